//! The words by which furniture is known, in the languages of the sites that people follow.
//!
//! In lower case, parted by `|`, a line or more for each language.

use std::collections::HashSet;
use std::sync::LazyLock;

/// Whole lines, in lower case and without punctuation at their ends.
pub(super) static LABELS: LazyLock<HashSet<&str>> = LazyLock::new(|| LABELS_TEXT.split('|').collect());

/// How a line begins that only points somewhere else, if a colon or a link follows.
pub(super) static POINTERS: LazyLock<Vec<&str>> = LazyLock::new(|| POINTERS_TEXT.split('|').collect());

/// How a line begins that asks the reader to do something other than read, with or without a link.
pub(super) static APPEALS: LazyLock<Vec<&str>> = LazyLock::new(|| APPEALS_TEXT.split('|').collect());

/// How a photo credit begins, if a colon follows or it is all there is.
pub(super) static CREDITS: LazyLock<Vec<&str>> = LazyLock::new(|| CREDITS_TEXT.split('|').collect());

/// Headings and links of comments, without digits and punctuation.
static COMMENT_HEADINGS: LazyLock<HashSet<&str>> = LazyLock::new(|| COMMENT_HEADINGS_TEXT.split('|').collect());

/// The same, but chapters are called like this as well.
static LIKELY_COMMENT_HEADINGS: LazyLock<HashSet<&str>> =
    LazyLock::new(|| LIKELY_COMMENT_HEADINGS_TEXT.split('|').collect());

/// How a heading of comments begins if the title of the article follows.
static COMMENT_HEADING_STARTS: LazyLock<Vec<&str>> = LazyLock::new(|| COMMENT_HEADING_STARTS_TEXT.split('|').collect());

/// A heading such as "12 comments" or "Leave a reply".
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct CommentHeading {
    /// It can hardly be a chapter.
    pub(super) is_certain: bool,
    /// It counts the comments.
    pub(super) has_number: bool,
}

/// Reads a line as the heading of comments.
pub(super) fn comment_heading(text: &str) -> Option<CommentHeading> {
    let has_number = text.chars().any(char::is_numeric);
    let is_part = |character: char| character.is_alphabetic() || matches!(character, '\'' | '\u{900}'..='\u{97F}');
    let text = text.to_lowercase().replace('’', "'");
    let words: Vec<&str> = text.split(|character: char| !is_part(character)).filter(|word| !word.is_empty()).collect();
    let line = words.join(" ");
    let begins = || {
        COMMENT_HEADING_STARTS.iter().any(|start| line.strip_prefix(start).is_some_and(|rest| rest.starts_with(' ')))
    };
    if COMMENT_HEADINGS.contains(line.as_str()) {
        Some(CommentHeading { is_certain: true, has_number })
    } else if LIKELY_COMMENT_HEADINGS.contains(line.as_str()) || begins() {
        Some(CommentHeading { is_certain: has_number, has_number })
    } else {
        None
    }
}

pub(super) const AGENCIES: [&str; 7] =
    ["getty images", "reuters", "afp", "ap photo", "shutterstock", "istock", "unsplash"];

const LABELS_TEXT: &str = "\
    advertisement|advertising|ad|sponsored|sponsored content|promoted|paid content|related|related articles|\
    related stories|related posts|related news|related content|related links|related topics|related coverage|\
    read more|read next|read also|more stories|more from us|more on this story|more on this topic|recommended|\
    recommended for you|recommended reading|recommended stories|you may also like|you might also like|\
    you may like|most read|most popular|trending|trending now|editor's picks|editors' picks|top stories|\
    latest news|share|share this|share this article|share this story|share on facebook|share on twitter|\
    share via email|tweet|print this page|copy link|save article|subscribe|subscribe now|\
    sign up|sign up now|newsletter|join our newsletter|follow us|loading|back to top|comments|leave a comment|\
    view comments|show comments|skip advertisement|story continues below advertisement|\
    article continues below advertisement|continue reading|listen to this article|view gallery|previous article|\
    next article|previous post|next post|jump to recipe|print recipe|\
    anzeige|werbung|mehr zum thema|lesen sie auch|auch interessant|das könnte sie auch interessieren|\
    das könnte dich auch interessieren|weitere artikel|weiterlesen|mehr lesen|zum thema|teilen|artikel teilen|\
    drucken|jetzt abonnieren|newsletter abonnieren|kommentare|meistgelesen|empfohlen|\
    publicité|à lire aussi|lire aussi|lire la suite|sur le même sujet|partager|partager cet article|s'abonner|\
    abonnez-vous|je m'abonne|commentaires|articles liés|articles similaires|les plus lus|vous aimerez aussi|\
    à voir aussi|\
    publicidad|anuncio|lea también|leer también|lee también|te puede interesar|le puede interesar|\
    también te puede interesar|noticias relacionadas|artículos relacionados|leer más|más información|compartir|\
    suscríbete|comentarios|lo más leído|publicidade|leia também|leia mais|veja também|saiba mais|\
    notícias relacionadas|compartilhar|assine|mais lidas|pubblicità|leggi anche|leggi di più|articoli correlati|\
    potrebbe interessarti|condividi|iscriviti|abbonati|i più letti|\
    advertentie|lees ook|lees meer|gerelateerd|delen|annons|läs också|läs mer|läs även|dela|reklama|\
    czytaj także|czytaj też|czytaj więcej|zobacz także|zobacz też|udostępnij|reklam|ilgili haberler|\
    devamını oku|paylaş|bunu da okuyun|\
    реклама|читайте также|читать также|читать далее|материалы по теме|по теме|поделиться|подписаться|\
    подпишитесь|комментарии|читайте також|поділитися|новини за темою|\
    广告|廣告|相关阅读|相关新闻|相關新聞|延伸閱讀|延伸阅读|推荐阅读|推薦閱讀|分享|分享到|阅读更多|更多新闻|広告|関連記事|あわせて読みたい|続きを読む|シェア|シェアする|おすすめ記事|人気記事|광고|\
    관련기사|관련 기사|공유하기|\
    إعلان|اقرأ أيضا|اقرأ أيضًا|إقرأ أيضا|اقرأ المزيد|مواضيع ذات صلة|أخبار ذات صلة|مقالات ذات صلة|شارك|تبلیغات|\
    بیشتر بخوانید|اخبار مرتبط|פרסומת|כתבות קשורות|קראו גם|שתפו|विज्ञापन|यह भी पढ़ें|ये भी पढ़ें|संबंधित खबरें";

const POINTERS_TEXT: &str = "\
    read more|read also|read next|also read|see also|see more|related|more on|more from|watch|listen|\
    recommended|don't miss|click here|sign up|subscribe|follow us|join our|download our|lesen sie auch|\
    lesen sie mehr|lies auch|mehr dazu|mehr zum thema|siehe auch|hier geht es|lire aussi|à lire aussi|lire|\
    voir aussi|lea también|leer también|lee también|ver también|te puede interesar|leia também|leia mais|\
    veja também|leggi anche|lees ook|lees meer|läs också|läs mer|czytaj też|czytaj także|zobacz też|\
    zobacz także|читайте также|смотрите также|подписывайтесь|читайте також|相关阅读|延伸阅读|延伸閱讀|関連記事|あわせて読みたい|\
    اقرأ أيضا|اقرأ أيضًا|اقرأ المزيد|بیشتر بخوانید|קראו גם|यह भी पढ़ें|ilgili haber";

const APPEALS_TEXT: &str = "\
    subscribe to|sign up for|sign up to|get our newsletter|follow us on|download our app|join our newsletter|\
    newsletter abonnieren|abonnieren sie|melden sie sich für unseren newsletter|folgen sie uns|abonnez-vous à|\
    inscrivez-vous à|suivez-nous sur|suscríbete a|síguenos en|assine nossa|siga-nos|iscriviti alla|seguici su|\
    meld je aan voor|volg ons op|prenumerera på|zapisz się do|подписывайтесь на|подпишитесь на|підписуйтесь на|\
    关注我们|تابعونا على|اشترك في";

const CREDITS_TEXT: &str = "\
    photo|photos|photograph|photography|photo credit|photo by|picture|image|images|image credit|image source|\
    credit|illustration|foto|fotos|bild|bilder|bildquelle|quelle|crédit|crédit photo|crédits|imagen|imagem|\
    crédito|immagine|beeld|zdjęcie|fot|фото|источник фото|图片来源|图|写真|画像|사진|الصورة|صورة|תמונה|צילום";

const COMMENT_HEADINGS_TEXT: &str = "\
    comments|comment|no comments|no comments yet|add a comment|add comment|add new comment|leave a comment|\
    leave a reply|post a comment|write a comment|join the discussion|join the conversation|reader comments|\
    readers' comments|user comments|latest comments|recent comments|show comments|view comments|all comments|\
    comments closed|comments are closed|member discussion|discussion about this post|have your say|your comments|\
    comment section|webmentions|trackbacks|pingbacks|\
    kommentare|keine kommentare|kommentar schreiben|kommentar verfassen|kommentar hinterlassen|\
    schreibe einen kommentar|schreiben sie einen kommentar|hinterlasse einen kommentar|leserkommentare|\
    kommentare zum artikel|kommentare anzeigen|diskutieren sie mit|\
    commentaires|commentaire|aucun commentaire|laisser un commentaire|ajouter un commentaire|poster un commentaire|\
    vos commentaires|comentarios|sin comentarios|deja un comentario|deja una respuesta|dejar un comentario|\
    escribe un comentario|comentários|deixe um comentário|deixe uma resposta|comentaris|commenti|\
    nessun commento|lascia un commento|reacties|geef een reactie|plaats een reactie|kommentarer|\
    lämna en kommentar|legg igjen en kommentar|skriv en kommentar|kommentit|komentarze|dodaj komentarz|\
    zostaw komentarz|komentáře|přidat komentář|yorumlar|yorum yap|bir yorum yazın|hozzászólások|\
    комментарии|комментариев|комментария|комментарий|добавить комментарий|оставить комментарий|\
    нет комментариев|коментарі|коментарів|залишити коментар|评论|評論|留言|发表评论|發表評論|发表回复|网友评论|\
    コメント|コメントを残す|コメントする|댓글|댓글 남기기|تعليقات|التعليقات|اترك تعليقا|תגובות|टिप्पणियाँ";

const LIKELY_COMMENT_HEADINGS_TEXT: &str = "\
    discussion|responses|response|replies|reply|conversation|reactions|diskussion|reaktionen|antworten|réactions|\
    respuestas|respostas|reazioni|обсуждение|kommentar|comentario|comentário|commento|reactie|yorum|komentarz";

const COMMENT_HEADING_STARTS_TEXT: &str = "\
    comments on|comments to|comments for|thoughts on|thought on|responses to|response to|replies to|\
    kommentare zu|kommentare zum|kommentare zur|gedanken zu|antworten auf|commentaires sur|réflexions sur|\
    réponses à|comentarios en|comentarios sobre|respuestas a|comentários em|respostas para|commenti su|\
    risposte a|reacties op";

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn phrases_are_in_the_form_in_which_they_are_compared() {
        for phrase in LABELS.iter().chain(&*POINTERS).chain(&*APPEALS).chain(&*CREDITS) {
            assert_eq!(*phrase, phrase.trim().to_lowercase(), "{phrase}");
            assert!(!phrase.is_empty() && !phrase.contains(['’', '\n']), "{phrase}");
        }
        for phrase in COMMENT_HEADINGS.iter().chain(&*LIKELY_COMMENT_HEADINGS) {
            assert!(comment_heading(phrase).is_some(), "{phrase}");
        }
    }

    #[test]
    fn s701_headings_of_comments_are_known_in_many_languages() {
        let certain = Some((true, false));
        let heading = |text| comment_heading(text).map(|heading| (heading.is_certain, heading.has_number));
        assert_eq!(heading("Comments"), certain);
        assert_eq!(heading("Leave a Reply"), certain);
        assert_eq!(heading("Kommentare:"), certain);
        assert_eq!(heading("12 Kommentare"), Some((true, true)));
        assert_eq!(heading("Комментарии (3)"), Some((true, true)));
        assert_eq!(heading("3 thoughts on “The bridge”"), Some((true, true)));
        assert_eq!(heading("Comments on the draft budget"), Some((false, false)));
        assert_eq!(heading("Discussion"), Some((false, false)));
        assert_eq!(heading("A comment on the budget"), None);
        assert_eq!(heading("12"), None);
    }
}
