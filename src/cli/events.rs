//! Parser of server-sent events, from chunks with arbitrary boundaries.

#[derive(Default)]
pub(super) struct Events {
    rest: Vec<u8>,
}

#[derive(Debug, PartialEq, Eq)]
pub(super) struct ServerSentEvent {
    pub(super) id: Option<String>,
    pub(super) event: Option<String>,
    pub(super) data: String,
}

impl Events {
    /// Returns the events that this chunk completes, without comments. The position at which the stream begins is an
    /// event without data.
    pub(super) fn take(&mut self, piece: &[u8]) -> Vec<ServerSentEvent> {
        self.rest.extend_from_slice(piece);
        let mut events = Vec::new();
        while let Some(end) = self.rest.windows(2).position(|pair| pair == b"\n\n") {
            let block: Vec<u8> = self.rest.drain(..end + 2).collect();
            events.extend(event(&String::from_utf8_lossy(&block)));
        }
        events
    }
}

fn event(block: &str) -> Option<ServerSentEvent> {
    let (mut id, mut event, mut data) = (None, None, Vec::new());
    for line in block.lines() {
        match line.split_once(':') {
            Some(("", comment)) => id = comment.strip_prefix(" welcome ").map(str::to_owned).or(id),
            Some(("id", value)) => id = Some(value.trim_start().to_owned()),
            Some(("event", value)) => event = Some(value.trim().to_owned()),
            Some(("data", value)) => data.push(value.strip_prefix(' ').unwrap_or(value)),
            _ => {}
        }
    }
    (!data.is_empty() || id.is_some()).then(|| ServerSentEvent { id, event, data: data.join("\n") })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn events_are_the_same_wherever_the_pieces_end() {
        let text = ": welcome 6\n\nid: 7\nevent: post\ndata: {\"a\":\"ä\"}\n\nid: 8\ndata: b\n\n: still".as_bytes();
        let wanted = [
            ServerSentEvent { id: Some("6".into()), event: None, data: String::new() },
            ServerSentEvent { id: Some("7".into()), event: Some("post".into()), data: "{\"a\":\"ä\"}".into() },
            ServerSentEvent { id: Some("8".into()), event: None, data: "b".into() },
        ];
        for size in [1, 2, 3, 10, text.len()] {
            let mut events = Events::default();
            let found: Vec<ServerSentEvent> = text.chunks(size).flat_map(|piece| events.take(piece)).collect();
            assert_eq!(found, wanted, "in pieces of {size}");
        }
    }
}
