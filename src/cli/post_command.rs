//! `feedwarden post`: lists, shows and follows posts.

use clap::{Args, Subcommand};

use super::client::{ApiClient, Done, query, read, until_interrupted};
use super::complain;
use super::error::CliError;
use super::listing::{list_all, paging};
use super::output_style::{OutputStyle, TextStyle, facts};
use super::sanitize::{cut, plain_lines};
use super::source_arguments::Paging;
use super::stream::follow_stream;
use super::table::{Cell, Column, Table, span};
use super::times::{past_moment, second};
use crate::api::views::{Page, PostRevisionView, PostView};
use crate::model::{Enclosure, PostSource, TextOrigin, Timestamp};

const COLUMNS: &[Column] = &[
    Column::number("ID"),
    Column::word("STORED").leaves(1),
    Column::text("SOURCE").leaves(2),
    Column::name("TITLE"),
    Column::url("URL").leaves(3),
];
/// Columns of `post tail`.
const TAIL_COLUMNS: &[Column] = &[
    Column::number("ID"),
    Column::word("CHANGE"),
    Column::word("AT").leaves(1),
    Column::text("SOURCE").leaves(2),
    Column::name("TITLE"),
    Column::url("URL").leaves(3),
];
/// Width of the name of a source in a table of posts.
const SOURCE_COLUMNS_MAX: usize = 24;

#[derive(Debug, Subcommand)]
pub(super) enum PostCommand {
    /// List posts, newest first
    List(ListPostsArguments),
    /// Show a post
    Show(PostArgument),
    /// Show what an edited post said before, newest revision first
    Revisions(PostArgument),
    /// Print new and changed posts until Ctrl-C
    Tail(Tail),
}

#[derive(Args, Debug)]
pub(super) struct ListPostsArguments {
    /// Only posts of this source: id, URL, or a part of URL or title that only one source has
    #[arg(long)]
    source: Option<String>,
    /// Only posts of sources with this label
    #[arg(long)]
    label: Option<String>,
    /// Only posts with this text in title or text, ignoring case
    #[arg(long)]
    text: Option<String>,
    /// Only posts stored at this time or later: 1h, "2 days ago", yesterday, 2026-11-01, 2026-11-01T14:30:00Z
    #[arg(long, value_name = "TIME", value_parser = past_moment)]
    since: Option<Timestamp>,
    /// Only posts stored before this time
    #[arg(long, value_name = "TIME", value_parser = past_moment)]
    until: Option<Timestamp>,
    /// List oldest posts first
    #[arg(long)]
    oldest: bool,
    #[command(flatten)]
    paging: Paging,
}

#[derive(Args, Debug)]
pub(super) struct PostArgument {
    /// Id of the post
    post: i64,
}

#[derive(Args, Debug)]
pub(super) struct Tail {
    /// Only posts of this source: id, URL, or a part of URL or title that only one source has
    #[arg(long)]
    source: Option<String>,
    /// Start after this change number [default: only posts that are stored or changed from now on]
    #[arg(long, value_name = "NUMBER")]
    after: Option<i64>,
    /// Stop after this many posts
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u64).range(1..))]
    count: Option<u64>,
}

pub(super) async fn post(client: &ApiClient, command: PostCommand) -> Done {
    match command {
        PostCommand::List(list) => list_some(client, &list).await,
        PostCommand::Show(named) => client.show(client.get(&format!("/posts/{}", named.post)).await?, one),
        PostCommand::Revisions(named) => {
            client.show(client.get(&format!("/posts/{}/revisions", named.post)).await?, all_revisions)
        }
        PostCommand::Tail(tail) => until_interrupted(follow(client, &tail)).await,
    }
}

async fn list_some(client: &ApiClient, list: &ListPostsArguments) -> Done {
    let source = of_source(client, list.source.as_deref()).await?;
    let (since, until) = (list.since.map(|time| time.to_string()), list.until.map(|time| time.to_string()));
    let newest = !list.oldest;
    let filters = [
        ("source_id", source.as_deref()),
        ("label", list.label.as_deref()),
        ("text", list.text.as_deref()),
        ("since", since.as_deref()),
        ("until", until.as_deref()),
        ("order", newest.then_some("newest")),
    ];
    let filters: Vec<(&str, &str)> = filters.into_iter().filter_map(|(name, value)| Some((name, value?))).collect();
    list_all(client, "/posts", &filters, &paging(&list.paging), COLUMNS, row).await
}

async fn of_source(client: &ApiClient, name: Option<&str>) -> Result<Option<String>, CliError> {
    match name {
        Some(name) => Ok(Some(client.source(name).await?.to_string())),
        None => Ok(None),
    }
}

/// Prints posts without gaps or repeats, also across a restart of the daemon.
async fn follow(client: &ApiClient, tail: &Tail) -> Done {
    let source = of_source(client, tail.source.as_deref()).await?;
    let pairs: Vec<(&str, &str)> = source.as_deref().map(|source| ("source_id", source)).into_iter().collect();
    follow_stream(client, &format!("/posts/stream?{}", query(&pairs)), tail.after, tail.count, line).await
}

fn line(data: &str) -> Result<String, CliError> {
    let value = serde_json::from_str(data).map_err(|error| CliError::Failed(error.to_string()))?;
    let post: PostView = read(value)?;
    let mut cells = row(&post);
    // The width of the longer word, so that the lines stand below each other.
    let change = if post.change_number == post.id.0 { "new    " } else { "updated" };
    cells[1] = Cell::new(second(post.changed_at.unwrap_or(post.created_at)));
    cells.insert(1, Cell::new(change));
    let mut table = Table::new(TAIL_COLUMNS);
    table.row(cells);
    Ok(table.render(OutputStyle::of_output(), false))
}

fn row(post: &PostView) -> Vec<Cell> {
    vec![
        Cell::new(post.id),
        Cell::time(post.created_at),
        Cell::new(source_name(post)),
        Cell::new(&post.title),
        post.url.as_ref().map_or_else(|| Cell::maybe(None::<&str>), |url| Cell::styled(url, TextStyle::Dim)),
    ]
}

/// Id and title of the source of a post.
pub(super) fn source_name(post: &PostView) -> String {
    match post.source.as_ref().and_then(|source| source.title.as_ref()) {
        Some(title) => format!("{} {}", post.source_id, cut(title, SOURCE_COLUMNS_MAX)),
        None => post.source_id.to_string(),
    }
}

fn one(post: PostView) -> String {
    let source = match &post.source {
        Some(PostSource { id, title: Some(title), url, .. }) => format!("{id}, {title}, {url}"),
        Some(PostSource { id, url, .. }) => format!("{id}, {url}"),
        None => post.source_id.to_string(),
    };
    let labels = post.source.map(|source| source.labels.join(", ")).filter(|labels| !labels.is_empty());
    let authors = Some(post.authors.join(", ")).filter(|authors| !authors.is_empty());
    let times = |count: u32| if count == 1 { "once".to_owned() } else { format!("{count} times") };
    let changed = post.changed_at.map(|at| format!("{}, {}", second(at), times(post.revision)));
    let files: Vec<String> = post.enclosures.iter().map(file).collect();
    let origin = match (post.text_origin, post.is_backfill) {
        (TextOrigin::Feed, false) => None,
        (TextOrigin::Feed, true) => Some("the feed, by a backfill"),
        (TextOrigin::FeedPending, _) => Some("the feed, until the page of the entry is fetched"),
        (TextOrigin::Page, _) => Some("the page"),
        (TextOrigin::Article, false) => Some("the page of the entry"),
        (TextOrigin::Article, true) => Some("the page of the entry, by a backfill"),
    };
    let text = facts(
        OutputStyle::of_output(),
        &[
            ("post", Some(post.id.to_string())),
            ("source", Some(source)),
            ("labels", labels),
            ("title", Some(post.title)),
            ("url", post.url),
            ("guid", post.guid),
            ("author", authors),
            ("byline", post.byline),
            ("published", post.published_at.map(second)),
            ("updated", post.updated_at.map(second)),
            ("stored", Some(second(post.created_at))),
            ("changed", changed),
            ("language", post.language),
            ("categories", (!post.categories.is_empty()).then(|| post.categories.join(", "))),
            ("image", post.image_url),
            ("comments", post.comments_url),
            ("files", (!files.is_empty()).then(|| files.join("; "))),
            ("text from", origin.map(str::to_owned)),
            ("full text", post.full_text_error.map(|error| format!("not fetched: {error}"))),
            ("summary", post.summary),
        ],
    );
    format!("{text}\n{}\n", plain_lines(&post.text).trim_end())
}

/// Every revision as `post show` shows a post, with an empty line in between.
fn all_revisions(page: Page<PostRevisionView>) -> String {
    if page.items.is_empty() {
        complain(&"no previous revisions of this post are kept");
    }
    page.items.into_iter().map(one_revision).collect::<Vec<_>>().join("\n")
}

fn one_revision(revision: PostRevisionView) -> String {
    let text = facts(
        OutputStyle::of_output(),
        &[
            ("revision", Some(revision.revision.to_string())),
            ("title", Some(revision.title)),
            ("url", revision.url),
            ("author", revision.author),
            ("published", revision.published_at.map(second)),
            ("stored", Some(second(revision.stored_at))),
            ("summary", revision.summary),
        ],
    );
    format!("{text}\n{}\n", plain_lines(&revision.text).trim_end())
}

/// A file of a post with what is known of it.
fn file(enclosure: &Enclosure) -> String {
    let about = [
        enclosure.title.clone(),
        enclosure.media_type.clone(),
        enclosure.length.map(|bytes| format!("{bytes} bytes")),
        enclosure.duration_seconds.map(|seconds| span(seconds.into())),
    ];
    let about: Vec<String> = about.into_iter().flatten().collect();
    match about.is_empty() {
        true => enclosure.url.clone(),
        false => format!("{} ({})", enclosure.url, about.join(", ")),
    }
}
