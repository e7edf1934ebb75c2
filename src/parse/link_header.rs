//! The HTTP header `Link` (RFC 8288): the links of a document to hubs and to itself.

use url::Url;

use crate::model::HubLinks;

/// Links that are kept of one relation.
const HUBS_MAX: usize = 5;
/// Longer values are cut.
const VALUE_BYTES_MAX: usize = 16 * 1024;

/// Reads the values of all `Link` headers of a document at this URL.
pub fn hub_links<'a>(values: impl Iterator<Item = &'a str>, base: &Url) -> HubLinks {
    let mut links = HubLinks::default();
    for value in values {
        let mut rest = (0..4).find_map(|back| value.get(..VALUE_BYTES_MAX - back)).unwrap_or(value);
        while let Some((target, parameters, after)) = next_link(rest) {
            rest = after;
            let relations = relations(parameters);
            let has = |wanted: &str| relations.split_ascii_whitespace().any(|one| one.eq_ignore_ascii_case(wanted));
            let Ok(url) = base.join(target.trim()) else { continue };
            if has("hub") {
                add_hub(&mut links.hubs, url.as_str());
            }
            if has("self") && links.own.is_none() {
                links.own = Some(url.into());
            }
        }
    }
    links
}

/// Adds a hub, unless it is known or there are enough.
pub(super) fn add_hub(hubs: &mut Vec<String>, url: &str) {
    if hubs.len() < HUBS_MAX && !hubs.iter().any(|known| known == url) {
        hubs.push(url.to_owned());
    }
}

/// The next `<target>; parameters` of a list, and what follows it.
fn next_link(list: &str) -> Option<(&str, &str, &str)> {
    let begin = list.find('<')? + 1;
    let end = begin + list[begin..].find('>')?;
    let parameters = &list[end + 1..];
    let mut is_quoted = false;
    let mut is_escaped = false;
    let stop = parameters.char_indices().find(|(_, character)| {
        let is_end = *character == ',' && !is_quoted;
        match character {
            _ if is_escaped => is_escaped = false,
            '\\' => is_escaped = is_quoted,
            '"' => is_quoted = !is_quoted,
            _ => {}
        }
        is_end
    });
    let stop = stop.map_or(parameters.len(), |(place, _)| place);
    let after = parameters.get(stop + 1..).unwrap_or_default();
    Some((&list[begin..end], &parameters[..stop], after))
}

/// The value of the first `rel`.
fn relations(parameters: &str) -> String {
    // A semicolon inside of quotes splits a value that is not `rel`, or leaves half a relation, which is none.
    let pairs = parameters.split(';').filter_map(|parameter| parameter.split_once('='));
    let rel = pairs.filter(|(name, _)| name.trim().eq_ignore_ascii_case("rel")).map(|(_, value)| value).next();
    rel.unwrap_or_default().trim().trim_matches('"').to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(values: &[&str]) -> (Vec<String>, Option<String>) {
        let base = Url::parse("https://feeds.example/blog/feed.xml").unwrap();
        let HubLinks { hubs, own } = hub_links(values.iter().copied(), &base);
        (hubs, own)
    }

    #[test]
    fn p46_hubs_and_self_are_read_in_every_spelling() {
        let hub = || vec!["https://hub.example/".to_owned()];
        let own = || Some("https://feeds.example/blog/feed.xml".to_owned());
        for values in [
            &["<https://hub.example/>; rel=\"hub\", <https://feeds.example/blog/feed.xml>; rel=\"self\""][..],
            &["<https://hub.example/>;rel=hub,<feed.xml>;rel=self"],
            &["<https://hub.example/> ; title=\"a, b; c\" ; REL=\"nofollow HUB\"", "</blog/feed.xml>; rel=self"],
            &["<next.xml>; rel=next, <feed.xml>; rel=\"self\"; type=\"a/b\"", "<https://hub.example/>; rel=hub"],
        ] {
            assert_eq!(read(values), (hub(), own()), "{values:?}");
        }
    }

    #[test]
    fn p46_what_is_no_link_is_left_out_and_hubs_are_bounded() {
        for value in [
            "",
            "<",
            "<>",
            "hub",
            "<https://hub.example/",
            "<https://hub.example/>",
            "<x>; rel=\"next",
            "<http://[>; rel=hub",
        ] {
            assert_eq!(read(&[value]), (Vec::new(), None), "{value}");
        }
        let many: String = (0..50).map(|number| format!("<https://{}.example/>; rel=hub,", number % 9)).collect();
        assert_eq!(read(&[&many]).0.len(), HUBS_MAX);
        assert_eq!(read(&["<//h.example/>; rel=hub; x=\"\\\",<a>;rel=self\""]).1, None);
    }
}
