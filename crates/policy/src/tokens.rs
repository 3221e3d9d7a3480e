//! Tokens that tell by their form what they are.

/// Beginnings of tokens, and how many characters follow them at least.
const PREFIXES: &[(&str, usize)] = &[
    // GitHub, GitLab.
    ("ghp_", 36),
    ("gho_", 36),
    ("ghu_", 36),
    ("ghs_", 36),
    ("ghr_", 36),
    ("github_pat_", 36),
    ("glpat-", 20),
    // Google, DigitalOcean.
    ("AIza", 35),
    ("dop_v1_", 64),
    // Stripe, Slack, SendGrid.
    ("sk_live_", 16),
    ("sk_test_", 16),
    ("rk_live_", 16),
    ("rk_test_", 16),
    ("whsec_", 24),
    ("xoxa-", 20),
    ("xoxb-", 20),
    ("xoxp-", 20),
    ("xoxr-", 20),
    ("xoxs-", 20),
    ("xapp-", 20),
    ("SG.", 40),
    // Providers of models.
    ("sk-", 20),
    ("hf_", 30),
    // Registries of packages.
    ("npm_", 36),
    ("pypi-", 40),
    ("dckr_pat_", 20),
];

/// Letters and digits in a row that no word has.
const MIN_RANDOM: usize = 10;

/// Returns whether a token is somewhere in a value.
pub(crate) fn has_token(value: &[u8]) -> bool {
    let is_part = |byte: &u8| byte.is_ascii_alphanumeric() || b"_-.".contains(byte);
    value
        .split(|byte| !is_part(byte))
        .any(|word| is_token(word) || is_amazon_key_id(word) || is_json_web_token(word))
}

/// Returns whether it is the id of an access key of Amazon, permanent or temporary.
fn is_amazon_key_id(word: &[u8]) -> bool {
    const LENGTH: usize = 20;
    (word.starts_with(b"AKIA") || word.starts_with(b"ASIA"))
        && word.len() == LENGTH
        && word.iter().all(|byte| byte.is_ascii_uppercase() || byte.is_ascii_digit())
}

fn is_token(word: &[u8]) -> bool {
    PREFIXES.iter().any(|(prefix, least)| {
        word.strip_prefix(prefix.as_bytes())
            .is_some_and(|rest| rest.len() >= *least && is_random(rest))
    })
}

/// Returns whether a text has what words with hyphens between them have not: letters and digits mixed in one piece.
fn is_random(text: &[u8]) -> bool {
    text.split(|byte| !byte.is_ascii_alphanumeric()).any(|piece| {
        piece.len() >= MIN_RANDOM
            && piece.iter().any(u8::is_ascii_digit)
            && piece.iter().any(u8::is_ascii_alphabetic)
    })
}

/// Returns whether it is a JSON Web Token: two objects in base64url, and a signature (RFC 7519, 3.1).
fn is_json_web_token(word: &[u8]) -> bool {
    /// `{"`, as base64 has it.
    const OBJECT: &[u8] = b"eyJ";
    const MIN_SIGNATURE: usize = 16;
    let parts: Vec<&[u8]> = word.split(|byte| *byte == b'.').collect();
    match parts.as_slice() {
        [header, claims, signature] => {
            header.starts_with(OBJECT)
                && claims.starts_with(OBJECT)
                && signature.len() >= MIN_SIGNATURE
        }
        _ => false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Letters and digits, as many as that: tokens are put together, so that no scanner of this repository finds any.
    fn random(length: usize) -> String {
        "a1B2c3D4e5F6g7H8i9J0".chars().cycle().take(length).collect()
    }

    #[test]
    fn tokens_are_told_by_their_form() {
        for token in [
            format!("ghp_{}", random(36)),
            format!("gho_{}", random(36)),
            format!("github_pat_{}_{}", random(22), random(59)),
            format!("glpat-{}", random(20)),
            format!("AKIA{}", "IOSFODNN7EXAMPLE"),
            format!("sk_live_{}", random(24)),
            format!("sk-{}", random(48)),
            format!("sk-proj-{}-{}_x", random(20), random(20)),
            format!("sk-ant-api03-{}-AA", random(90)),
            format!("sk-or-v1-{}", "0123456789abcdef".repeat(4)),
            format!("xoxb-{}-{}-{}", "123456789012", "1234567890123", random(24)),
            format!("npm_{}", random(36)),
            format!("hf_{}", random(34)),
            format!("SG.{}.{}", random(22), random(43)),
            format!("AIza{}", random(35)),
            format!("eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxIn0.{}", random(43)),
        ] {
            assert!(has_token(token.as_bytes()), "{token}");
            let within = format!("--header='Authorization: Bearer {token}',-x");
            assert!(has_token(within.as_bytes()), "{within}");
            assert!(!has_token(format!("x{token}").as_bytes()), "x{token}");
        }
    }

    #[test]
    fn usual_values_are_no_tokens() {
        for value in [
            "",
            "/usr/local/bin:/usr/bin:/home/me/.local/bin",
            "rs=0:di=01;34:ln=01;36:mh=00:pi=40;33",
            "/nix/store/0c1wqkz8kq4s2rz5y1n0q9xq2k3l4m5n-openssl-3.0.12-dev",
            "2c55f2c9a6b1d4e0f3a2b1c0d9e8f7a6b5c4d3e2",
            "3fa85f64-5717-4562-b3fc-2c963f66afa6",
            "sk-learn-pipeline-for-classification-2024",
            "sk-SK.UTF-8",
            "npm_config_registry_of_a_company_with_a_long_name",
            "hf_transfer",
            "ghp_short",
            "AKIA",
            "ASIA/Kolkata",
            "xoxb-workspace-name-of-a-company-here",
            "eyJhbGciOiJIUzI1NiJ9",
            "example.com.",
            "SG.example.com",
            "--max-old-space-size=4096 --enable-source-maps",
            "github_pat_is_the_name_of_a_kind_of_token_here",
        ] {
            assert!(!has_token(value.as_bytes()), "{value}");
        }
    }
}
