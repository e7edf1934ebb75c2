//! The names of months and time zones.

/// The month that a word in lower case names, by the beginning of the word. The longest beginning decides: Finnish
/// `marraskuu` is November, not March.
pub(super) fn month(word: &str) -> Option<i64> {
    match word {
        "jan" => return Some(1),
        "feb" => return Some(2),
        "mar" => return Some(3),
        "apr" => return Some(4),
        "may" => return Some(5),
        "jun" => return Some(6),
        "jul" => return Some(7),
        "aug" => return Some(8),
        "sep" => return Some(9),
        "oct" => return Some(10),
        "nov" => return Some(11),
        "dec" => return Some(12),
        // Nearly every date has one of these.
        "mon" | "tue" | "wed" | "thu" | "fri" | "sat" | "sun" | "t" => return None,
        _ => {}
    }
    let beginnings = (1..).zip(MONTHS).flat_map(|(month, names)| names.iter().map(move |name| (month, *name)));
    let known = beginnings.filter(|(_, beginning)| word.starts_with(beginning));
    known.max_by_key(|(_, beginning)| beginning.len()).map(|(month, _)| month)
}

/// How the names of each month begin in English, German, French, Spanish, Italian, Portuguese, Catalan, Romanian, Dutch,
/// Danish, Norwegian, Swedish, Finnish, Estonian, Hungarian, Polish, Czech, Slovene, Russian, Ukrainian, Bulgarian,
/// Serbian, Greek, Turkish, Indonesian and Arabic. `lis` is November in Polish and Czech; Croatian, where it is October,
/// is not among them.
const MONTHS: [&[&str]; 12] = [
    &["jan", "jän", "ene", "gen", "ian", "jaan", "tammi", "led", "янв", "січ", "яну", "јан", "ιαν", "oca", "يناير"],
    &["feb", "fév", "fev", "veeb", "helmi", "lut", "úno", "фев", "лют", "феб", "φεβ", "şub", "peb", "فبراير"],
    &["mar", "mär", "maer", "mrz", "mrt", "maart", "már", "maalis", "bře", "мар", "бер", "μαρ", "μάρ", "مارس"],
    &["apr", "avr", "abr", "ápr", "huhti", "kwi", "dub", "апр", "кві", "απρ", "nis", "أبريل", "ابريل"],
    &[
        "may", "mai", "maj", "mei", "mag", "máj", "touko", "kvě", "май", "мая", "тра", "мај", "μαΐ", "μάι", "μαϊ",
        "مايو",
    ],
    &[
        "jun",
        "juin",
        "giu",
        "iun",
        "jún",
        "juun",
        "kesä",
        "cze",
        "červen",
        "červn",
        "čvn",
        "июн",
        "чер",
        "юни",
        "јун",
        "ιουν",
        "ιούν",
        "haz",
        "يونيو",
    ],
    &[
        "jul",
        "juil",
        "lug",
        "iul",
        "júl",
        "juul",
        "heinä",
        "lip",
        "červenc",
        "červene",
        "čvc",
        "июл",
        "лип",
        "юли",
        "јул",
        "ιουλ",
        "ιούλ",
        "tem",
        "يوليو",
    ],
    &[
        "aug",
        "aoû",
        "aou",
        "ago",
        "agu",
        "avg",
        "elo",
        "sie",
        "srp",
        "авг",
        "сер",
        "αυγ",
        "αύγ",
        "ağu",
        "أغسطس",
        "اغسطس",
    ],
    &["sep", "set", "szep", "syys", "wrz", "zář", "сен", "сеп", "вер", "σεπ", "eyl", "سبتمبر"],
    &["oct", "okt", "ott", "out", "loka", "paź", "říj", "окт", "жов", "οκτ", "eki", "أكتوبر", "اكتوبر"],
    &["nov", "noi", "marras", "lis", "ноя", "лис", "ное", "нов", "νοε", "νοέ", "kas", "نوفمبر"],
    &["dec", "déc", "dez", "dic", "des", "dets", "joulu", "gru", "pro", "дек", "гру", "дец", "δεκ", "ara", "ديسمبر"],
];

/// How far a zone, named in lower case, is ahead of universal time. Where a name is used twice, the larger population
/// decides; the single letters of RFC 822 were used with either sign and so mean nothing (RFC 2822, section 4.3).
pub(super) fn zone_offset_minutes(word: &str) -> Option<i64> {
    Some(match word {
        "z" | "ut" | "utc" | "gmt" | "wet" => 0,
        "bst" | "west" | "cet" | "met" | "mez" => 60,
        "cest" | "mest" | "mesz" | "eet" | "sast" | "cat" => 120,
        "eest" | "msk" | "trt" => 180,
        "msd" | "gst" => 240,
        "pkt" => 300,
        "ist" => 330,
        "npt" => 345,
        "ict" | "wib" => 420,
        "sgt" | "hkt" | "awst" | "pht" => 480,
        "jst" | "kst" => 540,
        "acst" => 570,
        "aest" => 600,
        "acdt" => 630,
        "aedt" => 660,
        "nzst" => 720,
        "nzdt" => 780,
        "ndt" => -150,
        "adt" | "brt" | "art" | "clst" => -180,
        "nst" => -210,
        "edt" | "ast" | "clt" => -240,
        "est" | "cdt" | "et" | "pet" => -300,
        "cst" | "mdt" | "ct" => -360,
        "mst" | "pdt" | "mt" => -420,
        "pst" | "akdt" | "pt" => -480,
        "akst" => -540,
        "hst" => -600,
        _ => return None,
    })
}
