//! Tokens signed by key pairs, over real TCP: the daemon has the public half alone.

use feedwarden::api::settings::{ApiLimits, TokenKey};
use feedwarden::api::tokens::{Signer, TokenScope};
use feedwarden::demo::web::SiteBehaviour;

use super::ApiWorld;
use super::world::SECRET;
use crate::pipeline::{World, run};
use crate::store::Engine::Sqlite;

const RSA: &str = include_str!("../fixtures/keys/rsa.pem");
const RSA_PUBLIC: &str = include_str!("../fixtures/keys/rsa-public.pem");
const RSA_OTHER: &str = include_str!("../fixtures/keys/rsa-other.pem");

/// The right key opens the listener, and no other one does.
fn check(key: TokenKey, right: Signer, wrong: Vec<(&str, Signer)>) {
    run(async || {
        let api = ApiWorld::around(World::of(Sqlite, &[SiteBehaviour::Healthy]).await, key, ApiLimits::default());
        let told = async |scope, signer: &Signer| {
            let token = api.token_of("ada", scope, signer);
            api.tell_tcp("POST", "/scheduler/pause", "", Some(&token)).await
        };
        assert_eq!(told(TokenScope::Write, &right).await.status, 200);
        told(TokenScope::Read, &right).await.is_problem(403, "forbidden", None);
        for (what, signer) in &wrong {
            let answer = told(TokenScope::Write, signer).await;
            assert_eq!(answer.status, 401, "{what}: {answer:?}");
            answer.is_problem(401, "unauthorized", None);
        }
        api.stop().await;
    });
}

fn ed25519() -> (Signer, String) {
    let pair = rcgen::KeyPair::generate_for(&rcgen::PKCS_ED25519).unwrap();
    (Signer::Ed25519(pair.serialize_pem().into()), pair.public_key_pem())
}

#[test]
fn rs256_opens_the_door_to_its_own_key_alone() {
    let wrong = vec![
        ("another key", Signer::Rsa(RSA_OTHER.into())),
        ("another algorithm", ed25519().0),
        ("a secret", Signer::Secret(SECRET.into())),
        // A public key used as a secret.
        ("the public key as a secret", Signer::Secret(RSA_PUBLIC.into())),
    ];
    check(TokenKey::Rsa(RSA_PUBLIC.into()), Signer::Rsa(RSA.into()), wrong);
}

#[test]
fn eddsa_opens_the_door_to_its_own_key_alone() {
    let (right, public) = ed25519();
    let wrong = vec![
        ("another key", ed25519().0),
        ("another algorithm", Signer::Rsa(RSA.into())),
        ("the public key as a secret", Signer::Secret(public.clone().into())),
    ];
    check(TokenKey::Ed25519(public), right, wrong);
}
