use std::{
    collections::HashMap,
    path::PathBuf,
    sync::{Arc, Mutex, PoisonError, Weak},
};

use tokio::sync;

use super::FilePath;

/// Who appends to which file: one after the other, in the order in which they came.
#[derive(Debug, Default)]
pub(super) struct AppendQueue(Mutex<HashMap<PathBuf, Weak<sync::Mutex<()>>>>);

/// Held by who appends.
pub(super) type AppendTurn = sync::OwnedMutexGuard<()>;

impl AppendQueue {
    /// Waits until nobody who came before appends to that file.
    pub(super) async fn turn(&self, path: &FilePath) -> AppendTurn {
        let turn = self.of(path);
        turn.lock_owned().await
    }

    fn of(&self, path: &FilePath) -> Arc<sync::Mutex<()>> {
        let mut files = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(turn) = files.get(path.absolute()).and_then(Weak::upgrade) {
            return turn;
        }
        files.retain(|_, turn| turn.strong_count() > 0);
        let turn = Arc::default();
        files.insert(path.absolute().into(), Arc::downgrade(&turn));
        turn
    }
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use super::*;

    #[tokio::test]
    async fn turns_come_in_order_and_leave_nothing() {
        let queue = Arc::new(AppendQueue::default());
        let path = |name: &str| FilePath::new(name.as_bytes(), Path::new("/")).unwrap();
        let first = queue.turn(&path("a")).await;
        drop(queue.turn(&path("b")).await);
        let order = Arc::new(Mutex::new(Vec::new()));
        let mut waiting = Vec::new();
        for number in 0..5 {
            let (queue, order) = (Arc::clone(&queue), Arc::clone(&order));
            waiting.push(tokio::spawn(async move {
                let _turn = queue.turn(&path("a")).await;
                order.lock().unwrap().push(number);
            }));
            tokio::task::yield_now().await;
        }
        assert_eq!(order.lock().unwrap().len(), 0);
        drop(first);
        for waiting in waiting {
            waiting.await.unwrap();
        }
        assert_eq!(*order.lock().unwrap(), [0, 1, 2, 3, 4]);
        drop(queue.turn(&path("c")).await);
        assert_eq!(queue.0.lock().unwrap().len(), 1);
    }
}
