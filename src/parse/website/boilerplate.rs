//! Which blocks of an article are not part of it.
//!
//! Each rule raised the measured share of right words on public corpora; trimming date lines did not, so dates stay.

use super::blocks::Block;

/// What is longer says something.
const LINE_CHARS_MAX: usize = 90;

/// Whole lines, in lower case and without punctuation at their ends.
const LABELS: &[&str] = &[
    // English
    "advertisement",
    "advertising",
    "ad",
    "sponsored",
    "sponsored content",
    "promoted",
    "paid content",
    "related",
    "related articles",
    "related stories",
    "related posts",
    "related news",
    "related content",
    "related links",
    "related topics",
    "related coverage",
    "read more",
    "read next",
    "read also",
    "more stories",
    "more from us",
    "more on this story",
    "more on this topic",
    "recommended",
    "recommended for you",
    "recommended reading",
    "recommended stories",
    "you may also like",
    "you might also like",
    "you may like",
    "most read",
    "most popular",
    "trending",
    "trending now",
    "editor's picks",
    "editors' picks",
    "top stories",
    "latest news",
    "share",
    "share this",
    "share this article",
    "share this story",
    "share on facebook",
    "share on twitter",
    "share via email",
    "tweet",
    "email",
    "print",
    "print this page",
    "copy link",
    "save",
    "save article",
    "subscribe",
    "subscribe now",
    "sign up",
    "sign up now",
    "newsletter",
    "join our newsletter",
    "follow us",
    "loading",
    "back to top",
    "comments",
    "leave a comment",
    "view comments",
    "show comments",
    "skip advertisement",
    "story continues below advertisement",
    "article continues below advertisement",
    "continue reading",
    "listen to this article",
    "view gallery",
    "previous article",
    "next article",
    "previous post",
    "next post",
    "jump to recipe",
    "print recipe",
    // German
    "anzeige",
    "werbung",
    "mehr zum thema",
    "lesen sie auch",
    "auch interessant",
    "das könnte sie auch interessieren",
    "das könnte dich auch interessieren",
    "weitere artikel",
    "weiterlesen",
    "mehr lesen",
    "zum thema",
    "teilen",
    "artikel teilen",
    "drucken",
    "jetzt abonnieren",
    "newsletter abonnieren",
    "kommentare",
    "meistgelesen",
    "empfohlen",
    // French
    "publicité",
    "à lire aussi",
    "lire aussi",
    "lire la suite",
    "sur le même sujet",
    "partager",
    "partager cet article",
    "s'abonner",
    "abonnez-vous",
    "je m'abonne",
    "commentaires",
    "articles liés",
    "articles similaires",
    "les plus lus",
    "vous aimerez aussi",
    "à voir aussi",
    // Spanish, Portuguese, Italian
    "publicidad",
    "anuncio",
    "lea también",
    "leer también",
    "lee también",
    "te puede interesar",
    "le puede interesar",
    "también te puede interesar",
    "noticias relacionadas",
    "artículos relacionados",
    "leer más",
    "más información",
    "compartir",
    "suscríbete",
    "comentarios",
    "lo más leído",
    "publicidade",
    "leia também",
    "leia mais",
    "veja também",
    "saiba mais",
    "notícias relacionadas",
    "compartilhar",
    "assine",
    "mais lidas",
    "pubblicità",
    "leggi anche",
    "leggi di più",
    "articoli correlati",
    "potrebbe interessarti",
    "condividi",
    "iscriviti",
    "abbonati",
    "i più letti",
    // Dutch, Swedish, Polish, Turkish
    "advertentie",
    "lees ook",
    "lees meer",
    "gerelateerd",
    "delen",
    "annons",
    "läs också",
    "läs mer",
    "läs även",
    "dela",
    "reklama",
    "czytaj także",
    "czytaj też",
    "czytaj więcej",
    "zobacz także",
    "zobacz też",
    "udostępnij",
    "reklam",
    "ilgili haberler",
    "devamını oku",
    "paylaş",
    "bunu da okuyun",
    // Russian, Ukrainian
    "реклама",
    "читайте также",
    "читать также",
    "читать далее",
    "материалы по теме",
    "по теме",
    "поделиться",
    "подписаться",
    "подпишитесь",
    "комментарии",
    "читайте також",
    "поділитися",
    "новини за темою",
    // Chinese, Japanese, Korean
    "广告",
    "廣告",
    "相关阅读",
    "相关新闻",
    "相關新聞",
    "延伸閱讀",
    "延伸阅读",
    "推荐阅读",
    "推薦閱讀",
    "分享",
    "分享到",
    "阅读更多",
    "更多新闻",
    "広告",
    "関連記事",
    "あわせて読みたい",
    "続きを読む",
    "シェア",
    "シェアする",
    "おすすめ記事",
    "人気記事",
    "광고",
    "관련기사",
    "관련 기사",
    "공유하기",
    // Arabic, Persian, Hebrew, Hindi
    "إعلان",
    "اقرأ أيضا",
    "اقرأ أيضًا",
    "إقرأ أيضا",
    "اقرأ المزيد",
    "مواضيع ذات صلة",
    "أخبار ذات صلة",
    "مقالات ذات صلة",
    "شارك",
    "تبلیغات",
    "بیشتر بخوانید",
    "اخبار مرتبط",
    "פרסומת",
    "כתבות קשורות",
    "קראו גם",
    "שתפו",
    "विज्ञापन",
    "यह भी पढ़ें",
    "ये भी पढ़ें",
    "संबंधित खबरें",
];

/// How a line begins that only points somewhere else, if a colon or a link follows.
const POINTERS: &[&str] = &[
    "read more",
    "read also",
    "read next",
    "also read",
    "see also",
    "see more",
    "related",
    "more on",
    "more from",
    "watch",
    "listen",
    "recommended",
    "don't miss",
    "click here",
    "sign up",
    "subscribe",
    "follow us",
    "join our",
    "download our",
    "lesen sie auch",
    "lesen sie mehr",
    "lies auch",
    "mehr dazu",
    "mehr zum thema",
    "siehe auch",
    "hier geht es",
    "lire aussi",
    "à lire aussi",
    "lire",
    "voir aussi",
    "lea también",
    "leer también",
    "lee también",
    "ver también",
    "te puede interesar",
    "leia também",
    "leia mais",
    "veja também",
    "leggi anche",
    "lees ook",
    "lees meer",
    "läs också",
    "läs mer",
    "czytaj też",
    "czytaj także",
    "zobacz też",
    "zobacz także",
    "читайте также",
    "смотрите также",
    "подписывайтесь",
    "читайте також",
    "相关阅读",
    "延伸阅读",
    "延伸閱讀",
    "関連記事",
    "あわせて読みたい",
    "اقرأ أيضا",
    "اقرأ أيضًا",
    "اقرأ المزيد",
    "بیشتر بخوانید",
    "קראו גם",
    "यह भी पढ़ें",
    "ilgili haber",
];

/// How a line begins that asks the reader to do something other than read, with or without a link.
const APPEALS: &[&str] = &[
    "subscribe to",
    "sign up for",
    "sign up to",
    "get our newsletter",
    "follow us on",
    "download our app",
    "join our newsletter",
    "newsletter abonnieren",
    "abonnieren sie",
    "melden sie sich für unseren newsletter",
    "folgen sie uns",
    "abonnez-vous à",
    "inscrivez-vous à",
    "suivez-nous sur",
    "suscríbete a",
    "síguenos en",
    "assine nossa",
    "siga-nos",
    "iscriviti alla",
    "seguici su",
    "meld je aan voor",
    "volg ons op",
    "prenumerera på",
    "zapisz się do",
    "подписывайтесь на",
    "подпишитесь на",
    "підписуйтесь на",
    "关注我们",
    "تابعونا على",
    "اشترك في",
];

/// How a photo credit begins, if a colon follows or it is all there is.
const CREDITS: &[&str] = &[
    "photo",
    "photos",
    "photograph",
    "photography",
    "photo credit",
    "photo by",
    "picture",
    "image",
    "images",
    "image credit",
    "image source",
    "credit",
    "illustration",
    "foto",
    "fotos",
    "bild",
    "bilder",
    "bildquelle",
    "quelle",
    "crédit",
    "crédit photo",
    "crédits",
    "imagen",
    "imagem",
    "crédito",
    "immagine",
    "beeld",
    "zdjęcie",
    "fot",
    "фото",
    "источник фото",
    "图片来源",
    "图",
    "写真",
    "画像",
    "사진",
    "الصورة",
    "صورة",
    "תמונה",
    "צילום",
];

/// The blocks that are the article, which may be known to be by this author. If the rules leave nothing, they do not
/// understand this page, and all of it stays.
pub(super) fn without(blocks: Vec<Block>, author: Option<&str>) -> Vec<Block> {
    let author = author.map(bare);
    let mut below_label = false;
    let mut verdicts: Vec<bool> = blocks
        .iter()
        .map(|block| {
            let is_label = is_label(block);
            // A list of links below "Related" belongs to it; the first block of another kind ends it.
            below_label = is_label || (below_label && is_mostly_links(block));
            let is_byline = || is_line(block) && author.as_deref() == Some(without_by(&bare(&block.text)));
            let is_furniture = is_credit(block) || is_pointer(block) || is_navigation(block) || is_byline();
            !(below_label || is_furniture || block.place.caption)
        })
        .collect();
    drop_edges(&blocks, &mut verdicts);
    if !verdicts.contains(&true) {
        return blocks;
    }
    blocks.into_iter().zip(verdicts).filter_map(|(block, is_kept)| is_kept.then_some(block)).collect()
}

/// An article does not start with links, which are where the page hangs in its site, nor end with a heading, which
/// belongs to what was dropped behind it.
fn drop_edges(blocks: &[Block], verdicts: &mut [bool]) {
    for (block, verdict) in blocks.iter().zip(verdicts.iter_mut()) {
        if *verdict && !(is_mostly_links(block) && is_line(block)) {
            break;
        }
        *verdict = false;
    }
    for (block, verdict) in blocks.iter().zip(verdicts.iter_mut()).rev() {
        if *verdict && !block.place.heading {
            break;
        }
        *verdict = false;
    }
}

fn without_by(line: &str) -> &str {
    let words = ["by ", "von ", "par ", "por ", "di ", "door ", "av "];
    words.iter().find_map(|word| line.strip_prefix(word)).unwrap_or(line)
}

fn is_mostly_links(block: &Block) -> bool {
    block.link_chars * 10 >= block.chars * 9
}

/// Nine tenths link text; lists, tables, quotes and headings may be made of links.
fn is_navigation(block: &Block) -> bool {
    let place = block.place;
    is_mostly_links(block) && !(place.list || place.table || place.quote || place.heading)
}

fn is_label(block: &Block) -> bool {
    is_line(block) && LABELS.contains(&bare(&block.text).as_str())
}

fn is_pointer(block: &Block) -> bool {
    if !is_line(block) {
        return false;
    }
    let text = bare(&block.text);
    let points = |start: &&&str| {
        text.strip_prefix(**start)
            .is_some_and(|rest| begins_with_colon(rest) || is_word_end(rest) && block.link_chars * 2 >= block.chars)
    };
    APPEALS.iter().any(|start| text.starts_with(start)) || POINTERS.iter().any(|start| points(&start))
}

fn is_credit(block: &Block) -> bool {
    if !is_line(block) || block.place.heading || block.place.list {
        return false;
    }
    let text = bare(&block.text);
    let agencies = ["getty images", "reuters", "afp", "ap photo", "shutterstock", "istock", "unsplash"];
    let is_short = block.chars <= 50;
    text.starts_with('©')
        || CREDITS.iter().any(|start| text.strip_prefix(start).is_some_and(begins_with_colon))
        || text.starts_with("photo by ")
        || is_short
            && !block.text.ends_with(['.', '!', '?', '"', '”'])
            && agencies.iter().any(|agency| text.ends_with(agency))
}

fn is_line(block: &Block) -> bool {
    block.chars <= LINE_CHARS_MAX && !block.place.table && !block.place.quote
}

fn begins_with_colon(rest: &str) -> bool {
    rest.trim_start().starts_with([':', '：', '/', '|', '»', '›', '→'])
}

fn is_word_end(rest: &str) -> bool {
    rest.chars().next().is_none_or(|next| !next.is_alphanumeric())
}

/// In lower case, straight apostrophes, without what stands around it.
fn bare(text: &str) -> String {
    let is_edge = |character: char| !character.is_alphanumeric() && !matches!(character, '©' | '\u{900}'..='\u{97F}');
    text.trim_matches(is_edge).to_lowercase().replace('’', "'")
}
