//! Host of a URL in canonical form, so that different spellings of a host share its limits.

use crate::model::HostKey;

/// Host of a URL; none for a text that is no URL or has no host (s506).
pub fn host_key(url: &str) -> Option<HostKey> {
    HostKey::of_url(url)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn check(url: &str, host: Option<&str>) {
        assert_eq!(host_key(url).as_ref().map(HostKey::as_str), host, "{url}");
    }

    #[test]
    fn spellings_of_one_host_are_one_key() {
        for url in [
            "http://nitter.net/user1/rss",
            "https://nitter.net/user2/rss",
            "https://NITTER.net/",
            "http://nitter.net:8080/feed",
            "http://nitter.net./feed",
            "http://user:secret@nitter.net/feed",
            "  http://nitter.net/feed  ",
            "http://nitter\t.net/feed",
            "ftp://nitter.net/feed",
            "gopher://NITTER.net/",
        ] {
            check(url, Some("nitter.net"));
        }
    }

    #[test]
    fn international_names_are_in_punycode() {
        check("https://münchen.example/feed", Some("xn--mnchen-3ya.example"));
        check("https://MÜNCHEN.example/feed", Some("xn--mnchen-3ya.example"));
        check("https://xn--mnchen-3ya.example/feed", Some("xn--mnchen-3ya.example"));
        check("https://例え.テスト/", Some("xn--r8jz45g.xn--zckzah"));
    }

    #[test]
    fn addresses_have_one_spelling_too() {
        for url in
            ["http://127.0.0.1/", "http://127.1/", "http://2130706433/", "http://0x7f.0.0.1/", "http://017700000001/"]
        {
            check(url, Some("127.0.0.1"));
        }
        check("http://[::1]:8080/", Some("[::1]"));
        check("http://[2001:DB8:0:0:0:0:0:1]/", Some("[2001:db8::1]"));
        check("http://[::ffff:192.0.2.1]/", Some("192.0.2.1"));
    }

    #[test]
    fn s506_what_has_no_host_has_no_key() {
        for url in [
            "",
            "   ",
            "not a url",
            "/feed.xml",
            "example.com/feed",
            "http://",
            "http://./",
            "http://exa mple.com/",
            "http://[::1/",
            "http://1.2.3.4.5/",
            "mailto:news@example.com",
            "data:text/plain,feed",
            "file:///etc/feed.xml",
            "http://example.com:99999/",
        ] {
            check(url, None);
        }
    }

    #[test]
    fn s506_a_name_that_dns_cannot_carry_is_no_host() {
        let name = |length: usize| "abcdefg.".repeat(40)[..length].to_owned() + "z";
        check(&format!("http://{}/", name(252)), Some(&name(252)));
        check(&format!("http://{}./", name(252)), Some(&name(252)));
        check(&format!("http://{}/", name(253)), None);
    }

    proptest! {
        #[test]
        fn no_text_breaks_it_and_a_key_is_its_own_host(url in ".*") {
            if let Some(key) = host_key(&url) {
                prop_assert_eq!(host_key(&format!("http://{key}/")), Some(key));
            }
        }

        #[test]
        fn any_name_keeps_its_host_whatever_surrounds_it(name in "[a-z][a-z0-9]{0,10}\\.(com|org|example)", port in 1u16.., path in "[a-z/]{0,10}") {
            let key = HostKey::from_canonical(&name);
            prop_assert_eq!(host_key(&format!("https://{}:{port}/{path}", name.to_uppercase())), Some(key));
        }
    }
}
