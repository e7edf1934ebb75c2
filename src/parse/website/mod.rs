//! A web page to an article: its text, and what the page says about it.
//!
//! Built on dom_smoothie, behind a parse that stops before a hostile page becomes expensive, and followed by rules that
//! drop what it leaves of captions, credits and "read more". HTML trees are not `Send`: none leaves [`extract`].

mod article;
mod attributes;
mod blocks;
mod boilerplate;
mod byline;
mod comment_headings;
mod comments;
mod guard;
mod json_ld;
mod main_article;
mod metadata;
mod name_words;
mod names;
mod phrases;
mod prune;
mod sink;
mod survey;
mod thread;
mod walk;
mod walls;

use std::borrow::Cow;

use article::ArticleScope;
use survey::Survey;
use url::Url;

use super::html::with_absolute_links;
use crate::model::Timestamp;

/// What a page holds.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ExtractedPage {
    /// The heading, without the name of the site.
    pub title: Option<String>,
    /// Who wrote it, as the page's `<meta>` for authors says (s703).
    pub author: Option<String>,
    /// Who wrote it, by name, as JSON-LD, other metadata or a line of the page say.
    pub byline: Option<String>,
    /// When it was published.
    pub published: Option<Timestamp>,
    /// The address under which the publisher wants it known.
    pub canonical_url: Option<Url>,
    /// The article as plain text on one line. Never empty.
    pub text: String,
    /// The same words with a line for each paragraph, heading, list item, row and line of code.
    pub lines: String,
    /// The article with its elements, images and captions; links are absolute if the address of the page is known. Not
    /// sanitised.
    pub html: String,
}

/// Why a page gives no article. The texts are for the operator.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum PageError {
    #[error("the page holds no article text")]
    NoText,
    /// A form that asks for a password, and next to nothing else.
    #[error("the page asks to log in and shows no article text")]
    LoginRequired,
    /// Its text appears only in a browser that runs scripts.
    #[error("the page shows its text only to browsers that run scripts")]
    ScriptRequired,
    /// The part that was read before a limit holds no article.
    #[error("the page is nested too deeply or holds too much, and no article stands before that")]
    TooComplex,
}

/// Reads a page. The URL is where it was found; relative addresses are resolved against it.
///
/// # Errors
///
/// If no article text was found, with the likeliest reason.
pub fn extract(html: &str, url: Option<&Url>) -> Result<ExtractedPage, PageError> {
    let guard::Parsed { document, is_cut } = guard::parse(html);
    let scope = ArticleScope::of(&document);
    let survey = Survey::of(&document);
    let facts = metadata::read(&document, &survey, url);
    let walls = walls::Walls::of(&survey);
    let headings = article::prepare(&survey);
    let names: Vec<&str> = [&facts.author, &facts.byline].into_iter().flatten().map(String::as_str).collect();
    let bound = scope.narrow(&document, &names);
    let found = article::find(document, bound, &headings, &names);
    let found = found.or_else(|| article::whole(&guard::parse(html).document, &names));
    let Some(found) = found else {
        return Err(if is_cut { PageError::TooComplex } else { walls.why_nothing() });
    };
    // What stands before the limit of a page that is cut may be its navigation.
    if is_cut && article::is_navigation(&found.text.lines) {
        return Err(PageError::TooComplex);
    }
    if let Some(wall) = walls.before(&found.text.lines) {
        return Err(wall);
    }
    let title = facts.title.or(found.title).or_else(|| headings.into_iter().find(|heading| !heading.is_empty()));
    Ok(ExtractedPage {
        title: title.map(metadata::shortened),
        author: facts.author,
        byline: facts.byline,
        published: facts.published,
        canonical_url: facts.canonical_url,
        html: html_of(found.text.html, facts.base_url.as_ref()),
        text: found.text.lines.replace('\n', " "),
        lines: found.text.lines,
    })
}

fn html_of(html: String, base: Option<&Url>) -> String {
    match base.map(|base| with_absolute_links(&html, base.as_str())) {
        Some(Cow::Owned(absolute)) => absolute,
        Some(Cow::Borrowed(_)) | None => html,
    }
}

#[cfg(test)]
mod tests;
