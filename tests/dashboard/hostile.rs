//! What publishers and callers write stays text, in its place, whatever it is.

use feedwarden::api::tokens::TokenScope;
use feedwarden::model::{NewPost, PostContent, SourceId};
use serde_json::json;

use super::DashboardWorld;
use super::pages::PAGES;
use crate::pipeline::run;
use crate::store::Engine::Sqlite;

/// What a script of a publisher would leave behind.
const TRACE: &str = "return [window.owned, document.querySelectorAll('script').length, \
                     document.querySelectorAll('main img, main iframe, main style, main object').length]";

#[test]
fn hostile_titles_urls_labels_and_reasons_run_no_script_and_keep_the_page_in_shape() {
    run(async || {
        let world = DashboardWorld::of(Sqlite).await;
        let script = "<script>window.owned = 1</script><img src=x onerror=\"window.owned = 1\">";
        let long = "w".repeat(10_000);
        let (first, second) = (world.sources[0], world.sources[1]);
        let title = format!("\u{202e}{script}\u{2067}");
        let change = json!({ "title": title, "add_labels": [script, "x".repeat(60)] });
        assert_eq!(world.api.tell("PATCH", &format!("/sources/{first}"), change).await.status, 200);
        let store = &world.api.world.store;
        store
            .raw(&format!(
                "UPDATE sources SET feed_title = '{long}', last_error = '{script}{long}' WHERE id = {second}"
            ))
            .await;
        let url = format!("http://{}.example/{}", "a".repeat(60), "%20".repeat(600));
        world.api.add_quiet(&url).await;
        let reason = json!({ "reason": format!("\u{202e}{script}{}", "r".repeat(400)) });
        let disabled = world.api.tell("POST", &format!("/sources/{}/disable", world.sources[4]), reason).await;
        assert_eq!(disabled.status, 200, "{disabled:?}");
        let content = |guid: &str, title: String| PostContent {
            guid: Some(guid.to_owned()),
            title,
            text: format!("{guid} {script}{long}"),
            url: Some("javascript:window.owned = 1".into()),
            ..PostContent::default()
        };
        let posts = [content("long", long.clone()), content("script", title)];
        let posts = store.find(SourceId(first), posts.map(|content| NewPost::new(content, None)).to_vec()).await;
        let visit = world.sign_in(TokenScope::Write).await;
        let search = format!("?text={}", url::form_urlencoded::byte_serialize(script.as_bytes()).collect::<String>());
        let mut pages: Vec<String> = PAGES.iter().map(|page| (*page).to_owned()).collect();
        pages.extend([format!("/sources/{second}"), format!("/posts/{}", posts[0]), format!("/posts/{}", posts[1])]);
        pages.extend(["/sources", "/posts", "/settings"].map(|page| format!("{page}{search}")));
        for width in [390, 1280] {
            visit.width(width).await;
            for page in &pages {
                let page = world.fill_in(page).await;
                visit.open(&page).await;
                assert_eq!(visit.script(TRACE).await, json!([null, 1, 0]), "{page}");
                let scroll = visit.script("return document.documentElement.scrollWidth").await.as_u64().unwrap();
                assert!(scroll <= width.into(), "{page} at {width}: {scroll}");
            }
        }
        visit.is_clean(&[401]).await;
        // A mark that turns the direction of a title ends with the title.
        visit.open("/sources").await;
        let around = "return getComputedStyle(document.querySelector('td[data-label=Title] bdi')).unicodeBidi";
        assert_eq!(visit.script(around).await, "isolate");
        assert_eq!(visit.count("a[href^='javascript:']").await, 0);
        drop(visit);
        world.api.stop().await;
    });
}

#[test]
fn messages_of_the_address_bar_are_text() {
    run(async || {
        let world = DashboardWorld::of(Sqlite).await;
        let visit = world.sign_in(TokenScope::Read).await;
        visit.open("?notice=%3Cimg%20src%3Dx%20onerror%3D%22window.owned%3D1%22%3E").await;
        visit.wait_for_text(".notice", "<img src=x").await;
        assert_eq!(visit.script(TRACE).await, json!([null, 1, 0]));
        drop(visit);
        world.api.stop().await;
    });
}
