use std::{
    collections::HashMap,
    sync::{Mutex, MutexGuard, PoisonError},
};

use tokio::sync::oneshot;

/// Who waits for an answer of the box, by the number of the request.
#[derive(Debug)]
pub(super) struct Waiting<T>(Mutex<State<T>>);

#[derive(Debug)]
struct State<T> {
    /// The number of the last request.
    last: u64,
    /// None when there will be no more answers.
    answers: Option<HashMap<u64, oneshot::Sender<T>>>,
}

impl<T> Waiting<T> {
    /// Begins to wait for the answer to the request of that number; there is no number where there will be no answer.
    pub(super) fn add(&self) -> (Option<u64>, oneshot::Receiver<T>) {
        let (answer, receiver) = oneshot::channel();
        let State { last, answers } = &mut *self.state();
        let number = answers.as_mut().map(|answers| {
            *last += 1;
            answers.insert(*last, answer);
            *last
        });
        (number, receiver)
    }

    pub(super) fn answer(&self, number: u64, value: T) {
        let answer = self.state().answers.as_mut().and_then(|answers| answers.remove(&number));
        // Nobody may wait for it any more.
        let _gone = answer.map(|answer| answer.send(value));
    }

    /// Nobody gets an answer any more.
    pub(super) fn answer_none(&self) {
        self.state().answers = None;
    }

    fn state(&self) -> MutexGuard<'_, State<T>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl<T> Default for Waiting<T> {
    fn default() -> Self {
        Self(Mutex::new(State { last: 0, answers: Some(HashMap::new()) }))
    }
}
