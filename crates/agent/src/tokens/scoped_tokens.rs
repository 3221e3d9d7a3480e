use std::{
    fmt::Write as _,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
    time::Duration,
};

use super::{
    Scopes,
    scoped_token::{ScopedToken, hash},
};

/// The most valid tokens at a time.
const MAX_TOKENS: usize = 1000;
/// Beginning of a token, so that programs that look for secrets find it.
const PREFIX: &str = "sandpipe_";

/// The scoped tokens that are valid. They end with the agent.
#[derive(Debug, Default)]
pub(crate) struct ScopedTokens(Mutex<Vec<Arc<ScopedToken>>>);

/// Reason why there is no new token.
#[derive(Debug, thiserror::Error)]
pub(crate) enum NoToken {
    #[error("there are {MAX_TOKENS} valid tokens, and there may be no more: revoke some")]
    TooMany,
    #[error("the system gave no random bytes for a token: {0}")]
    Random(#[from] getrandom::Error),
}

impl ScopedTokens {
    /// Makes a token; returns it and what is kept of it.
    pub(crate) fn create(
        &self,
        scopes: Scopes,
        lifetime: Duration,
    ) -> Result<(String, Arc<ScopedToken>), NoToken> {
        let mut tokens = self.valid();
        if tokens.len() >= MAX_TOKENS {
            return Err(NoToken::TooMany);
        }
        let token = format!("{PREFIX}{}", random::<32>()?);
        let made = Arc::new(ScopedToken::new(random::<8>()?.into(), &token, scopes, lifetime));
        tokens.push(Arc::clone(&made));
        Ok((token, made))
    }

    /// The valid one that this is.
    pub(crate) fn find(&self, token: &str) -> Option<Arc<ScopedToken>> {
        let hash = hash(token);
        // All of them are compared, whichever it is.
        self.valid()
            .iter()
            .filter(|known| known.is(&hash))
            .fold(None, |_, known| Some(Arc::clone(known)))
    }

    /// All that are valid, newest first.
    pub(crate) fn list(&self) -> Vec<Arc<ScopedToken>> {
        self.valid().iter().rev().cloned().collect()
    }

    /// Ends a token, and all that was begun with it; returns whether there is one of that id.
    pub(crate) fn revoke(&self, id: &str) -> bool {
        let mut tokens = self.valid();
        let Some(at) = tokens.iter().position(|token| *token.id == *id) else {
            return false;
        };
        tokens.remove(at).revoke();
        true
    }

    /// Forgets those that have expired.
    fn valid(&self) -> MutexGuard<'_, Vec<Arc<ScopedToken>>> {
        let mut tokens = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        tokens.retain(|token| token.is_valid());
        tokens
    }
}

/// So many random bytes in hexadecimal.
fn random<const N: usize>() -> Result<String, getrandom::Error> {
    let mut bytes = [0; N];
    getrandom::fill(&mut bytes)?;
    Ok(bytes.iter().fold(String::new(), |mut text, byte| {
        // A string takes whatever is written to it.
        let _ok = write!(text, "{byte:02x}");
        text
    }))
}

#[cfg(test)]
mod tests {
    use std::time::Instant;

    use tokio::time::{advance, timeout};

    use super::*;

    const MINUTE: Duration = Duration::from_mins(1);

    fn create(tokens: &ScopedTokens) -> (String, Arc<ScopedToken>) {
        let scopes = Scopes { create_commands: true, ..Scopes::default() };
        tokens.create(scopes, MINUTE).unwrap()
    }

    #[tokio::test]
    async fn a_token_is_found_by_itself_alone_and_never_shown() {
        let tokens = ScopedTokens::default();
        let (token, made) = create(&tokens);
        create(&tokens);
        assert_eq!(tokens.find(&token).unwrap().id, made.id);
        let digest =
            hash(&token).iter().fold(String::new(), |text, byte| format!("{text}{byte:02x}"));
        for wrong in [
            "",
            PREFIX,
            &made.id,
            &digest,
            &token.to_uppercase(),
            token.strip_suffix(|_: char| true).unwrap(),
        ] {
            assert!(tokens.find(wrong).is_none(), "{wrong}");
        }
        assert_eq!(token.len(), PREFIX.len() + 64);
        let shown = format!("{tokens:?}");
        assert!(
            shown.contains(&*made.id) && !shown.contains(token.strip_prefix(PREFIX).unwrap()),
            "{shown}"
        );
        assert!(!shown.contains("hash"), "{shown}");
    }

    #[tokio::test]
    async fn a_token_ends_when_it_is_revoked() {
        let tokens = ScopedTokens::default();
        let (token, made) = create(&tokens);
        let (other, _) = create(&tokens);
        assert!(!tokens.revoke("none"));
        let ended = tokio::spawn({
            let made = Arc::clone(&made);
            async move { made.ended().await }
        });
        assert!(timeout(Duration::from_millis(50), made.ended()).await.is_err());
        let begin = Instant::now();
        assert!(tokens.revoke(&made.id));
        ended.await.unwrap();
        assert!(begin.elapsed() < MINUTE / 2);
        assert!(tokens.find(&token).is_none() && tokens.find(&other).is_some());
        assert!(!tokens.revoke(&made.id));
        assert_eq!(tokens.list().len(), 1);
    }

    #[tokio::test(start_paused = true)]
    async fn a_token_ends_when_it_expires_and_is_forgotten() {
        let tokens = ScopedTokens::default();
        let (token, made) = create(&tokens);
        advance(MINUTE * 9 / 10).await;
        assert!(tokens.find(&token).is_some());
        made.ended().await;
        assert!(tokens.find(&token).is_none() && !made.is_valid());
        assert!(tokens.0.lock().unwrap().is_empty());
    }

    #[tokio::test(start_paused = true)]
    async fn there_is_a_bound_on_valid_tokens() {
        let tokens = ScopedTokens::default();
        let made: Vec<_> = (0..MAX_TOKENS).map(|_| create(&tokens).1).collect();
        let refused = tokens.create(Scopes::default(), MINUTE).unwrap_err();
        assert!(matches!(refused, NoToken::TooMany));
        assert!(tokens.revoke(&made[7].id));
        create(&tokens);
        advance(MINUTE).await;
        create(&tokens);
        assert_eq!(tokens.list().len(), 1);
    }
}
