//! The words in class names and ids by which comments are known. All words are in lower case.

/// Words that begin with one of these are about comments, unless they are innocent or a foreign singular.
const STEMS: [&str; 2] = ["comment", "kommentar"];
/// `usercomments`, `leserkommentare`.
const ENDS: [&str; 4] = ["comments", "kommentare", "commentaires", "comentarios"];

/// What comments, their lists and the services that bring them are called.
pub(super) fn is_comment(word: &str) -> bool {
    STEMS.iter().any(|stem| word.starts_with(stem))
        || ENDS.iter().any(|end| word.ends_with(end))
        || matches!(
            word,
            "comtr"
                | "disqus"
                | "isso"
                | "giscus"
                | "utterances"
                | "remark42"
                | "hyvor"
                | "cusdis"
                | "livefyre"
                | "intensedebate"
                | "webmentions"
                | "trackbacks"
                | "pingbacks"
                | "talkbacks"
                | "replies"
                | "kommentit"
                | "leserkommentar"
                | "userkommentar"
                | "comentaris"
                | "reacties"
                | "komentarze"
                | "komentare"
                | "yorumlar"
        )
}

/// What those write who are paid for it.
pub(super) fn is_innocent(word: &str) -> bool {
    matches!(
        word,
        "commentary"
            | "commentaries"
            | "commentator"
            | "commentators"
            | "commentated"
            | "kommentator"
            | "kommentatoren"
    )
}

/// One comment, in languages whose newspapers print a "Kommentar" of their own. Alone they say nothing.
pub(super) fn is_foreign_singular(word: &str) -> bool {
    matches!(word, "kommentar" | "commentaire" | "comentario" | "reactie" | "komentarz" | "yorum")
}

/// With one of these a foreign singular is an opinion of the editors.
pub(super) fn is_kind(word: &str) -> bool {
    matches!(word, "article" | "artikel" | "kategorie" | "rubrik" | "teaser" | "typ")
}

/// Chapters of papers and parts of conversations are called like this, too.
pub(super) fn is_likely(word: &str) -> bool {
    matches!(
        word,
        "conversation"
            | "discussion"
            | "discussions"
            | "diskussion"
            | "reactions"
            | "reaktionen"
            | "reply"
            | "respond"
            | "responses"
            | "talkback"
    )
}

/// A name with one of these tells a state or a kind, such as `has-comments` on `<body>` or `tone-comment` on an
/// opinion.
pub(super) fn is_state(word: &str) -> bool {
    matches!(
        word,
        "allow"
            | "allowed"
            | "category"
            | "closed"
            | "disabled"
            | "editor"
            | "editors"
            | "enabled"
            | "expert"
            | "format"
            | "has"
            | "no"
            | "open"
            | "supports"
            | "tag"
            | "tone"
            | "type"
            | "with"
            | "without"
    )
}
