//! Page layouts with comments: the article is found whole, and no comment with it (s701), however many there are
//! (s702).
//!
//! `tests/fixtures/comment_pages/NAME.html` is a page with marks: `{{head}}`, `{{title}}`, the article as `{{article}}`
//! (paragraphs), `{{article_breaks}}` (line breaks) or `{{article_sections}}` (a division for each paragraph), and
//! `{{count}}`. What stands between `{{#each}}` and `{{/each}}` is repeated for each comment with its `{{name}}`,
//! `{{number}}` and `{{text}}`; `{{replies}}` in it holds the next two comments. What stands between `{{#some}}` and
//! `{{/some}}` is left out of a page without comments.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;

use feedwarden::parse::website;

const TITLE: &str = "The ferry that waited for nobody";
const COUNTS: [usize; 4] = [0, 1, 5, 30];

/// The article, a paragraph per line.
const PARAGRAPHS: [&str; 8] = [
    "The ferry left the landing at noon, with eleven passengers and a goat. Nobody had told the harbour master, who was \
     at lunch. By the time he had folded his napkin, the boat was halfway across.",
    "Witnesses agree on very little. Some say that the rope was cut, others that it had been rotten since the spring.",
    "The council met on Tuesday to hear the ferryman. He spoke for two hours, and most of it was about his father. \
     A record of the session will be kept in the town library.",
    "What is known is that the current was strong that day. The gauge at the bridge stood at four metres and ten \
     centimetres, which is more than in any March since the war.",
    "Insurance will pay for the paint, but not for the goat. Its owner, a cheese maker from the upper village, has asked \
     for a hearing of her own.",
    "Engineers from the capital have looked at the cable twice. Their report speaks of fatigue in the third strand, and \
     of a splice that no manual describes.",
    "Until the summer, a bus will run by way of the old bridge. The journey takes fifty minutes instead of six, and the \
     driver does not take dogs.",
    "On Sunday the bell of the landing was rung all the same. Eleven people came, stood at the rail and looked over to \
     the other side.",
];

/// How a comment's sentences begin and end; every pair is used once.
const BEGINNINGS: [&str; 14] = [
    "My grandmother always told us that",
    "Honestly, I cannot believe that",
    "As somebody who rides there daily, I doubt that",
    "It should be said more often that",
    "With all respect to the writer,",
    "Where I come from it is well known that",
    "Correct me if I am wrong, but",
    "Having worked on barges myself, I know that",
    "You forget to mention that",
    "Thank you for this, I had no idea that",
    "Funny how nobody admits that",
    "I read somewhere else that",
    "Please stop pretending that",
    "Our neighbour swears that",
];
const ENDINGS: [&str; 13] = [
    "boats of this kind sink in still water too.",
    "ropes were better when they were made of hemp.",
    "the mayor owns half of the bus company.",
    "goats can swim further than most people think.",
    "that river used to freeze over every winter.",
    "ticket prices have tripled without any reason.",
    "engines would have prevented the whole affair.",
    "children should not travel without a vest.",
    "a tunnel was promised to us in the nineties.",
    "the old ferryman never drank before sunset.",
    "maps of the landing are wrong by a mile.",
    "it was the moon, and not the current.",
    "tourists started all of this trouble.",
];

/// One way to fill a layout.
#[derive(Clone, Copy)]
struct Filling {
    paragraphs: usize,
    comments: usize,
    sentences_per_comment: usize,
}

/// What an extraction made of one layout, over all fillings.
#[derive(Default)]
struct Score {
    kept: usize,
    wanted: usize,
    leaked: usize,
    tempting: usize,
    /// Kinds of article whose text depends on the comments, of `articles`.
    unstable: usize,
    articles: usize,
    complaint: Option<String>,
}

#[test]
fn s701_s702_comments_are_no_part_of_the_article_and_do_not_change_it() {
    let scores = scores();
    print(&scores);
    let complaints: Vec<String> =
        scores.into_iter().filter_map(|(name, score)| Some(format!("{name}: {}", score.complaint?))).collect();
    assert!(complaints.is_empty(), "{} layouts:\n{}", complaints.len(), complaints.join("\n"));
}

#[test]
fn s701_there_are_at_least_sixty_layouts_with_comments() {
    assert!(layouts().len() >= 60, "{}", layouts().len());
}

/// Prints the table of `docs/testing.md`, to be seen with `--nocapture`.
fn print(scores: &BTreeMap<String, Score>) {
    println!(
        "| layout | article sentences kept | comment sentences leaked | text depends on comments |\n|---|---|---|---|"
    );
    for (name, Score { kept, wanted, leaked, tempting, unstable, articles, .. }) in scores {
        println!("| {name} | {kept} / {wanted} | {leaked} / {tempting} | {unstable} / {articles} |");
    }
    let sum = |part: fn(&Score) -> usize| scores.values().map(part).sum::<usize>();
    println!(
        "| all {} | {} / {} | {} / {} | {} / {} |",
        scores.len(),
        sum(|score| score.kept),
        sum(|score| score.wanted),
        sum(|score| score.leaked),
        sum(|score| score.tempting),
        sum(|score| score.unstable),
        sum(|score| score.articles)
    );
}

fn scores() -> BTreeMap<String, Score> {
    layouts().into_iter().map(|(name, template)| (name, score(&template))).collect()
}

fn score(template: &str) -> Score {
    let mut score = Score::default();
    for paragraphs in [2, PARAGRAPHS.len()] {
        let mut texts = Vec::new();
        for sentences_per_comment in [1, 6] {
            for comments in COUNTS {
                let filling = Filling { paragraphs, comments, sentences_per_comment };
                texts.push(judge(&mut score, template, filling));
            }
        }
        score.articles += 1;
        if texts.iter().any(|text| *text != texts[0]) {
            score.unstable += 1;
            score
                .complaint
                .get_or_insert_with(|| format!("{paragraphs} paragraphs: the comments change the text: {texts:#?}"));
        }
    }
    score
}

/// Counts what was kept and leaked, and returns the text.
fn judge(score: &mut Score, template: &str, filling: Filling) -> String {
    let Filling { paragraphs, comments, sentences_per_comment } = filling;
    let page = render(template, filling);
    let text = website::extract(&page, None).map_or_else(|error| error.to_string(), |page| page.text);
    let sentences = PARAGRAPHS[..paragraphs].iter().flat_map(|paragraph| paragraph.split_inclusive(". "));
    let (kept, lost): (Vec<&str>, Vec<&str>) = sentences.map(str::trim).partition(|sentence| text.contains(sentence));
    let said: Vec<String> =
        (0..comments * sentences_per_comment).map(sentence).filter(|said| page.contains(said)).collect();
    let leaked: Vec<&String> = said.iter().filter(|sentence| text.contains(sentence.as_str())).collect();
    score.kept += kept.len();
    score.wanted += kept.len() + lost.len();
    score.leaked += leaked.len();
    score.tempting += said.len();
    if !lost.is_empty() || !leaked.is_empty() {
        score.complaint.get_or_insert_with(|| {
            format!(
                "{paragraphs} paragraphs, {comments} comments of {sentences_per_comment}: lost {}, leaked {}: {text}",
                lost.len(),
                leaked.len()
            )
        });
    }
    text
}

fn render(template: &str, filling: Filling) -> String {
    let paragraphs = &PARAGRAPHS[..filling.paragraphs];
    let wrapped = |before: &str, behind: &str| -> String {
        paragraphs.iter().map(|paragraph| format!("{before}{paragraph}{behind}")).collect()
    };
    let mut page = template.to_owned();
    while let Some((before, rest)) = page.split_once("{{#some}}") {
        let (inside, behind) = rest.split_once("{{/some}}").unwrap();
        page = [before, if filling.comments > 0 { inside } else { "" }, behind].concat();
    }
    while let Some((before, rest)) = page.split_once("{{#each}}") {
        let (item, behind) = rest.split_once("{{/each}}").unwrap();
        page = [before, &items(item, filling), behind].concat();
    }
    page.replace("{{head}}", &format!("<meta charset=\"utf-8\"><title>{TITLE} | The Ferry Post</title>"))
        .replace("{{title}}", TITLE)
        .replace("{{article}}", &wrapped("<p>", "</p>"))
        .replace("{{article_breaks}}", &paragraphs.join("<br><br>"))
        .replace("{{article_sections}}", &wrapped("<div class=\"part\"><p>", "</p></div>"))
        .replace("{{count}}", &filling.comments.to_string())
}

/// All comments, each with two more inside if the layout nests them.
fn items(item: &str, filling: Filling) -> String {
    let one = |number: usize| {
        let first = number * filling.sentences_per_comment;
        let text: Vec<String> = (first..first + filling.sentences_per_comment).map(sentence).collect();
        item.replace("{{name}}", ["Ada Moss", "Bob Reed", "Cem Tuna", "Dora Pike"][number % 4])
            .replace("{{number}}", &(number + 1).to_string())
            .replace("{{text}}", &text.join(" "))
    };
    if !item.contains("{{replies}}") {
        return (0..filling.comments).map(one).collect();
    }
    let numbers: Vec<usize> = (0..filling.comments).collect();
    let nested = numbers.chunks(3).map(|chain| {
        chain.iter().rev().fold(String::new(), |inner, number| one(*number).replace("{{replies}}", &inner))
    });
    nested.collect()
}

fn sentence(number: usize) -> String {
    let (beginning, ending) =
        (number % BEGINNINGS.len(), (number + number / (BEGINNINGS.len() * ENDINGS.len())) % ENDINGS.len());
    format!("{} {}", BEGINNINGS[beginning], ENDINGS[ending])
}

fn layouts() -> BTreeMap<String, String> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/fixtures/comment_pages");
    let files = fs::read_dir(folder).expect("the fixtures are part of the repository");
    let layout = |path: &Path| {
        Some((path.file_stem()?.to_str()?.to_owned(), fs::read_to_string(path).expect("fixtures are readable text")))
    };
    files.filter_map(|file| layout(&file.expect("the folder can be listed").path())).collect()
}
