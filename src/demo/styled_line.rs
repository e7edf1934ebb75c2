//! Lines of text with styles, for live views.

/// How wide the headings of figures are.
pub(super) const HEADING_COLUMNS: usize = 10;
/// Colours of nodes. Red is left out: it means trouble.
const OWNER_CODES: [&str; 9] = ["32", "36", "33", "35", "34", "92", "96", "93", "95"];

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum ScreenStyle {
    Plain,
    Dim,
    Bold,
    Good,
    Uneasy,
    Resting,
    Bad,
    /// A node of a fleet, by its place.
    Owner(usize),
}

/// One line: pieces of text, each with its style.
#[derive(Clone, Debug, Default)]
pub(super) struct StyledLine(Vec<(ScreenStyle, String)>);

pub(super) fn heading(word: &str) -> StyledLine {
    StyledLine::new(ScreenStyle::Bold, format!("{word:<HEADING_COLUMNS$}"))
}

pub(super) fn good_if(is_good: bool) -> ScreenStyle {
    if is_good { ScreenStyle::Good } else { ScreenStyle::Bad }
}

impl ScreenStyle {
    /// ECMA-48 code.
    fn code(self) -> Option<&'static str> {
        match self {
            ScreenStyle::Plain => None,
            ScreenStyle::Dim => Some("2"),
            ScreenStyle::Bold => Some("1"),
            ScreenStyle::Good => Some("32"),
            ScreenStyle::Uneasy => Some("33"),
            ScreenStyle::Resting => Some("34"),
            ScreenStyle::Bad => Some("31"),
            ScreenStyle::Owner(place) => Some(OWNER_CODES[place % OWNER_CODES.len()]),
        }
    }
}

impl StyledLine {
    pub(super) fn new(text_style: ScreenStyle, text: impl Into<String>) -> StyledLine {
        StyledLine::default().and(text_style, text)
    }

    pub(super) fn and(mut self, text_style: ScreenStyle, text: impl Into<String>) -> StyledLine {
        self.0.push((text_style, text.into()));
        self
    }

    /// Cuts the line to the width and marks the cut.
    pub(super) fn fit(self, columns: usize, with_colours: bool) -> String {
        let length: usize = self.0.iter().map(|(_, text)| text.chars().count()).sum();
        let (mut left, mark) = if length > columns { (columns.saturating_sub(1), true) } else { (columns, false) };
        let mut fitted = String::new();
        for (text_style, text) in self.0 {
            // Texts come from publishers and panics, so remove control characters.
            let shown = text.chars().take(left).map(|char| if char.is_control() { ' ' } else { char });
            let shown: String = shown.collect();
            left -= shown.chars().count();
            match text_style.code().filter(|_| with_colours && !shown.is_empty()) {
                Some(code) => fitted.extend(["\x1b[", code, "m", &shown, "\x1b[0m"]),
                None => fitted.push_str(&shown),
            }
        }
        if mark && columns > 0 {
            fitted.push('…');
        }
        fitted
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_is_cut_where_the_screen_ends_and_cannot_steer_the_terminal() {
        let line = || StyledLine::new(ScreenStyle::Bold, "abc").and(ScreenStyle::Plain, "d\x1bf");
        assert_eq!(line().fit(6, false), "abcd f");
        assert_eq!(line().fit(5, false), "abcd…");
        assert_eq!(line().fit(3, true), "\x1b[1mab\x1b[0m…");
        assert_eq!(line().fit(0, true), "");
    }
}
