use std::{
    collections::{HashMap, VecDeque},
    sync::{Arc, Mutex, MutexGuard, PoisonError},
    time::{Duration, Instant},
};

use sandpipe_protocol::CreateExecRequest;
use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};
use tokio::sync::OwnedMutexGuard;

use super::time::Time;
use crate::tokens::TokenId;

/// How long a key is kept at least.
const MIN_KEY_AGE: Duration = Duration::from_mins(10);
/// How many keys are kept for longer than that.
const MIN_KEYS: usize = 10_000;
/// How many keys are kept at most, some 40 MB: a client would have to create more than 160 execs a
/// second for ten minutes to see the first of them forgotten too early.
const MAX_KEYS: usize = 100_000;

/// What a client names a create by, so that it can repeat it without running the command twice.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(transparent)]
pub(crate) struct IdempotencyKey(String);

impl IdempotencyKey {
    /// The key of these bytes: 1 to 255 visible ASCII characters.
    pub(crate) fn new(bytes: &[u8]) -> Option<Self> {
        let fits = (1..=255).contains(&bytes.len()) && bytes.iter().all(u8::is_ascii_graphic);
        let text = String::from_utf8(bytes.to_vec()).ok()?;
        fits.then_some(Self(text))
    }

    /// The key as a scoped token has it: no other token's, so that it stands for no other token's exec. No client has a space in
    /// its key.
    pub(super) fn of(self, creator: Option<&TokenId>) -> Self {
        match creator {
            Some(creator) => Self(format!("{creator} {}", self.0)),
            None => self,
        }
    }
}

/// A create as it was asked for: which key, and which request.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Creation {
    pub(super) key: IdempotencyKey,
    request: Fingerprint,
}

/// Stands for a request: two requests that mean the same have the same one.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(transparent)]
struct Fingerprint([u8; 32]);

impl Creation {
    pub(super) fn new(
        key: IdempotencyKey,
        request: &CreateExecRequest,
    ) -> serde_json::Result<Self> {
        let digest = Sha256::digest(serde_json::to_vec(request)?);
        Ok(Self { key, request: Fingerprint(digest.into()) })
    }

    /// Whether a key that was used at that time counts also where its exec is gone.
    pub(super) fn counts(created: Time, now: Time) -> bool {
        created.age(now) < MIN_KEY_AGE
    }
}

/// The keys of past creates and of those under way.
#[derive(Debug, Default)]
pub(super) struct Keys(Mutex<KeyTable>);

#[derive(Debug, Default)]
struct KeyTable {
    entries: HashMap<IdempotencyKey, KeyEntry>,
    /// All of them, oldest first.
    order: VecDeque<(Instant, IdempotencyKey)>,
}

#[derive(Debug)]
struct KeyEntry {
    request: Fingerprint,
    slot: Slot,
}

/// The id of the exec that a key stands for. It is locked while the exec is being created.
type Slot = Arc<tokio::sync::Mutex<Option<String>>>;

/// The same key was used for another request.
#[derive(Debug, thiserror::Error)]
#[error(
    "the Idempotency-Key {0:?} was used for another request: take a new key for a new command, and \
     repeat a create with the very same body"
)]
pub(crate) struct KeyReused(String);

/// A key that this request alone may use, until it is dropped.
#[derive(Debug)]
pub(super) struct KeyClaim<'keys> {
    keys: &'keys Keys,
    key: IdempotencyKey,
    /// Gone only while it is dropped.
    slot: OwnedMutexGuard<Option<String>>,
}

impl Keys {
    /// Waits until no other create uses the key, and takes it.
    pub(super) async fn claim(&self, creation: &Creation) -> Result<KeyClaim<'_>, KeyReused> {
        let slot = self.table().slot(creation, Instant::now())?;
        let slot = slot.lock_owned().await;
        Ok(KeyClaim { keys: self, key: creation.key.clone(), slot })
    }

    /// Takes over what is known of an earlier run of the agent, after all that was used before: the key was used
    /// so long ago.
    pub(super) fn restore(&self, creation: &Creation, id: &str, age: Duration) {
        let now = Instant::now();
        self.table().restore(creation, id, now.checked_sub(age).unwrap_or(now));
    }

    /// Whether the key is known.
    pub(super) fn holds(&self, creation: &Creation) -> bool {
        self.table().entries.contains_key(&creation.key)
    }

    fn table(&self) -> MutexGuard<'_, KeyTable> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl KeyClaim<'_> {
    /// The exec that the key stands for already.
    pub(super) fn exec(&self) -> Option<&str> {
        self.slot.as_deref()
    }

    /// From now on the key stands for that exec.
    pub(super) fn settle(mut self, id: &str) {
        *self.slot = Some(id.into());
    }
}

impl Drop for KeyClaim<'_> {
    /// The key of a create that failed is free again, unless another create waits for it.
    fn drop(&mut self) {
        if self.slot.is_none() {
            self.keys.table().remove_unless_shared(&self.key);
        }
    }
}

impl KeyTable {
    fn slot(&mut self, creation: &Creation, now: Instant) -> Result<Slot, KeyReused> {
        let Creation { key, request } = creation;
        if let Some(entry) = self.entries.get(key) {
            return if entry.request == *request {
                Ok(Arc::clone(&entry.slot))
            } else {
                Err(KeyReused(key.0.clone()))
            };
        }
        self.make_room(now);
        let slot = Slot::default();
        let entry = KeyEntry { request: request.clone(), slot: Arc::clone(&slot) };
        self.entries.insert(key.clone(), entry);
        self.order.push_back((now, key.clone()));
        Ok(slot)
    }

    fn restore(&mut self, creation: &Creation, id: &str, since: Instant) {
        let Creation { key, request } = creation;
        let slot = Arc::new(tokio::sync::Mutex::new(Some(id.into())));
        let entry = KeyEntry { request: request.clone(), slot };
        // The last use of a key counts; its place among the others stays that of the first.
        if self.entries.insert(key.clone(), entry).is_none() {
            self.order.push_back((since, key.clone()));
            self.make_room(Instant::now());
        }
    }

    /// Forgets the oldest keys if there are too many.
    fn make_room(&mut self, now: Instant) {
        while let Some((since, _)) = self.order.front() {
            let is_old = now.duration_since(*since) >= MIN_KEY_AGE;
            if self.order.len() < if is_old { MIN_KEYS } else { MAX_KEYS } {
                return;
            }
            if let Some((_, key)) = self.order.pop_front() {
                self.entries.remove(&key);
            }
        }
    }

    fn remove_unless_shared(&mut self, key: &IdempotencyKey) {
        // Two are this table's and the claim's own. Others get theirs only here, under the lock.
        if self.entries.get(key).is_some_and(|entry| Arc::strong_count(&entry.slot) <= 2) {
            self.entries.remove(key);
            // It is mostly one of the newest.
            if let Some(place) = self.order.iter().rposition(|(_, other)| other == key) {
                self.order.remove(place);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn creation(key: &str, command: &str) -> Creation {
        let request = CreateExecRequest { command: command.into(), ..CreateExecRequest::default() };
        Creation::new(IdempotencyKey::new(key.as_bytes()).unwrap(), &request).unwrap()
    }

    #[test]
    fn a_key_is_visible_ascii_of_a_bounded_length() {
        for right in ["a", "~!", &"x".repeat(255)] {
            assert!(IdempotencyKey::new(right.as_bytes()).is_some());
        }
        for wrong in ["", "a b", "\t", "\u{e9}", "\x7f", &"x".repeat(256)] {
            assert!(IdempotencyKey::new(wrong.as_bytes()).is_none(), "{wrong:?}");
        }
    }

    #[tokio::test]
    async fn a_key_stands_for_one_exec_of_one_request() {
        let keys = Keys::default();
        keys.claim(&creation("k", "a")).await.unwrap().settle("1");
        assert_eq!(keys.claim(&creation("k", "a")).await.unwrap().exec(), Some("1"));
        assert!(keys.claim(&creation("k", "b")).await.is_err());
        assert_eq!(keys.claim(&creation("l", "b")).await.unwrap().exec(), None);
    }

    #[tokio::test]
    async fn a_failed_create_frees_its_key_and_lets_one_that_waits_try() {
        let keys = Keys::default();
        let first = keys.claim(&creation("k", "a")).await.unwrap();
        let same = creation("k", "a");
        let waiting = keys.claim(&same);
        tokio::pin!(waiting);
        assert!(futures_util::FutureExt::now_or_never(waiting.as_mut()).is_none());
        drop(first);
        waiting.await.unwrap().settle("1");
        assert_eq!(keys.claim(&same).await.unwrap().exec(), Some("1"));
        drop(keys.claim(&creation("l", "a")).await.unwrap());
        drop(keys.claim(&creation("l", "b")).await.unwrap());
        let table = keys.table();
        assert_eq!((table.order.len(), table.entries.len()), (1, 1));
    }

    #[test]
    fn old_keys_make_room_for_new_ones() {
        let mut table = KeyTable::default();
        let start = Instant::now();
        let add = |table: &mut KeyTable, number: usize, now| {
            table.slot(&creation(&number.to_string(), "a"), now).unwrap();
        };
        for number in 0..MIN_KEYS + 10 {
            add(&mut table, number, start);
        }
        assert_eq!(table.entries.len(), MIN_KEYS + 10);
        add(&mut table, MIN_KEYS + 10, start + MIN_KEY_AGE);
        assert_eq!((table.entries.len(), table.order.len()), (MIN_KEYS, MIN_KEYS));
        assert!(!table.entries.contains_key(&IdempotencyKey("0".into())));
        for number in MIN_KEYS + 11..MIN_KEYS + MAX_KEYS + 20 {
            add(&mut table, number, start + MIN_KEY_AGE);
        }
        assert_eq!((table.entries.len(), table.order.len()), (MAX_KEYS, MAX_KEYS));
    }
}
