use std::{
    collections::HashMap,
    ffi::{OsStr, OsString},
    path::PathBuf,
};

/// What stands for a directory, whatever it is called: its file system and its number there.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct FileId {
    pub(super) device: u64,
    pub(super) inode: u64,
}

/// The directories that are watched, as far as their names are known from events: what has changed since is still to be told.
#[derive(Debug)]
pub(super) struct Tree {
    root: i32,
    nodes: HashMap<i32, Node>,
    /// Number of times that all events were handled.
    settled: u64,
}

#[derive(Debug)]
struct Node {
    id: FileId,
    /// Where it is; none for the root.
    place: Option<(i32, OsString)>,
    children: HashMap<OsString, i32>,
    /// Value of `Tree::settled` when it was found.
    found: u64,
}

/// What became of a directory that was found somewhere.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Attached {
    New,
    /// It was known to be there.
    Known,
    /// It was known elsewhere.
    Moved,
    /// What is known of the two is older than what was found: what is told later says where they are.
    Contradiction,
}

impl Tree {
    pub(super) fn new(root: i32, id: FileId) -> Self {
        let node = Node { id, place: None, children: HashMap::new(), found: 0 };
        Self { root, nodes: HashMap::from([(root, node)]), settled: 0 }
    }

    pub(super) fn root(&self) -> i32 {
        self.root
    }

    /// What stands for a directory; none where it is not watched.
    pub(super) fn id(&self, watch: i32) -> Option<FileId> {
        self.nodes.get(&watch).map(|node| node.id)
    }

    pub(super) fn watches(&self) -> impl Iterator<Item = i32> {
        self.nodes.keys().copied()
    }

    /// The watch of the directory of that name in another.
    pub(super) fn child(&self, parent: i32, name: &OsStr) -> Option<i32> {
        self.nodes.get(&parent)?.children.get(name).copied()
    }

    /// Returns the directory that holds another, and the name there; none for the root.
    pub(super) fn place(&self, watch: i32) -> Option<(i32, OsString)> {
        self.nodes.get(&watch)?.place.clone()
    }

    /// The path of a directory, relative to the root; none where it is not watched.
    pub(super) fn path(&self, watch: i32) -> Option<PathBuf> {
        let mut names = Vec::new();
        let mut node = self.nodes.get(&watch)?;
        while let Some((parent, name)) = &node.place {
            names.push(name);
            node = self.nodes.get(parent)?;
        }
        Some(names.into_iter().rev().collect())
    }

    /// A directory was found there, where no other is known to be.
    pub(super) fn attach(&mut self, parent: i32, name: &OsStr, watch: i32, id: FileId) -> Attached {
        if self.child(parent, name) == Some(watch) {
            return Attached::Known;
        }
        if !self.can_hold(parent, watch) {
            return Attached::Contradiction;
        }
        let attached = if let Some(node) = self.nodes.get_mut(&watch) {
            let old = node.place.replace((parent, name.to_owned()));
            if let Some((old_parent, old_name)) = old
                && let Some(old_parent) = self.nodes.get_mut(&old_parent)
            {
                old_parent.children.remove(&old_name);
            }
            Attached::Moved
        } else {
            let place = Some((parent, name.to_owned()));
            let node = Node { id, place, children: HashMap::new(), found: self.settled };
            self.nodes.insert(watch, node);
            Attached::New
        };
        if let Some(parent) = self.nodes.get_mut(&parent) {
            parent.children.insert(name.to_owned(), watch);
        }
        attached
    }

    /// Takes note that all events were handled.
    pub(super) fn settle(&mut self) {
        self.settled += 1;
    }

    /// Whether a directory is where the handled events say. One that was found while events waited
    /// may be ahead of them: they may be about former holders of its name.
    pub(super) fn is_settled(&self, watch: i32) -> bool {
        self.nodes.get(&watch).is_some_and(|node| node.found < self.settled)
    }

    /// Whether a directory can be in another.
    pub(super) fn can_hold(&self, parent: i32, watch: i32) -> bool {
        self.nodes.contains_key(&parent) && !self.is_within(parent, watch)
    }

    /// Whether a directory can take a name in another, in place of the one that has it.
    pub(super) fn can_replace(&self, parent: i32, name: &OsStr, watch: i32) -> bool {
        let holds_it = |child| self.is_within(watch, child);
        self.can_hold(parent, watch) && !self.child(parent, name).is_some_and(holds_it)
    }

    /// Forgets the directory of that name in another, with all that is below it; returns their watches.
    pub(super) fn detach(&mut self, parent: i32, name: &OsStr) -> Vec<i32> {
        match self.nodes.get_mut(&parent).and_then(|node| node.children.remove(name)) {
            Some(watch) => self.forget(watch),
            None => Vec::new(),
        }
    }

    /// Forgets a directory, with all that is below it, wherever it is; returns their watches.
    pub(super) fn detach_watch(&mut self, watch: i32) -> Vec<i32> {
        if let Some((parent, name)) = self.place(watch)
            && let Some(parent) = self.nodes.get_mut(&parent)
            && parent.children.get(&name) == Some(&watch)
        {
            parent.children.remove(&name);
        }
        self.forget(watch)
    }

    fn forget(&mut self, watch: i32) -> Vec<i32> {
        let mut forgotten = Vec::new();
        let mut next = vec![watch];
        while let Some(watch) = next.pop() {
            if let Some(node) = self.nodes.remove(&watch) {
                next.extend(node.children.into_values());
                forgotten.push(watch);
            }
        }
        forgotten
    }

    /// Whether a directory is another, or below it, as far as is known.
    fn is_within(&self, watch: i32, ancestor: i32) -> bool {
        let mut at = Some(watch);
        while let Some(watch) = at {
            if watch == ancestor {
                return true;
            }
            let node = self.nodes.get(&watch);
            at = node.and_then(|node| node.place.as_ref()).map(|(parent, _)| *parent);
        }
        false
    }
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use proptest::prelude::*;

    use super::*;

    fn tree(places: &[(i32, &str, i32)]) -> Tree {
        let mut tree = Tree::new(0, FileId::default());
        for (parent, name, watch) in places {
            let attached = tree.attach(*parent, name.as_ref(), *watch, FileId::default());
            assert_eq!(attached, Attached::New);
        }
        tree
    }

    #[test]
    fn what_is_below_a_directory_moves_with_it() {
        let mut tree = tree(&[(0, "a", 1), (1, "b", 2), (2, "c", 3), (0, "d", 4)]);
        assert_eq!(tree.path(3).unwrap(), Path::new("a/b/c"));
        assert_eq!(tree.attach(4, "e".as_ref(), 2, FileId::default()), Attached::Moved);
        assert_eq!(tree.path(3).unwrap(), Path::new("d/e/c"));
        assert_eq!((tree.child(1, "b".as_ref()), tree.child(4, "e".as_ref())), (None, Some(2)));
        assert_eq!(tree.path(0).unwrap(), Path::new(""));
    }

    #[test]
    fn what_is_below_a_directory_is_forgotten_with_it() {
        let mut tree = tree(&[(0, "a", 1), (1, "b", 2), (1, "c", 3), (0, "d", 4)]);
        let mut forgotten = tree.detach(0, "a".as_ref());
        forgotten.sort_unstable();
        assert_eq!(forgotten, [1, 2, 3]);
        assert_eq!((tree.path(2), tree.child(0, "a".as_ref())), (None, None));
        assert_eq!(tree.detach(0, "a".as_ref()), [] as [i32; 0]);
        assert_eq!(tree.detach_watch(4), [4]);
        assert_eq!(tree.child(0, "d".as_ref()), None);
    }

    #[test]
    fn nothing_is_put_below_itself() {
        let mut tree = tree(&[(0, "a", 1), (1, "b", 2)]);
        assert_eq!(tree.attach(2, "a".as_ref(), 1, FileId::default()), Attached::Contradiction);
        assert_eq!(tree.attach(1, "a".as_ref(), 1, FileId::default()), Attached::Contradiction);
        assert_eq!(tree.attach(9, "a".as_ref(), 1, FileId::default()), Attached::Contradiction);
        assert_eq!(tree.path(2).unwrap(), Path::new("a/b"));
    }

    #[test]
    fn a_directory_is_settled_once_all_events_were_handled_since_it_was_found() {
        let mut tree = tree(&[(0, "a", 1)]);
        assert!(!tree.is_settled(1));
        tree.settle();
        tree.attach(1, "b".as_ref(), 2, FileId::default());
        assert!(tree.is_settled(1) && !tree.is_settled(2));
        // An event that moves it does not change that.
        tree.attach(0, "c".as_ref(), 2, FileId::default());
        tree.attach(2, "d".as_ref(), 1, FileId::default());
        assert!(tree.is_settled(1) && !tree.is_settled(2) && !tree.is_settled(3));
    }

    #[test]
    fn a_directory_does_not_replace_one_that_holds_it() {
        let tree = tree(&[(0, "a", 1), (1, "b", 2), (0, "c", 3)]);
        assert!(tree.can_replace(0, "c".as_ref(), 2) && tree.can_replace(3, "x".as_ref(), 1));
        assert!(!tree.can_replace(0, "a".as_ref(), 2));
        assert!(!tree.can_replace(2, "x".as_ref(), 1));
    }

    proptest! {
        #[test]
        fn every_directory_has_one_path_whatever_is_told(
            steps in prop::collection::vec((0_i32..6, "[ab]", 1_i32..6, any::<bool>()), 0..40)
        ) {
            let mut tree = Tree::new(0, FileId::default());
            for (parent, name, watch, attaches) in steps {
                if attaches {
                    if let Some(old) = tree.child(parent, name.as_ref()).filter(|old| *old != watch) {
                        tree.detach_watch(old);
                    }
                    tree.attach(parent, name.as_ref(), watch, FileId::default());
                } else {
                    tree.detach(parent, name.as_ref());
                }
                let mut paths: Vec<_> =
                    tree.watches().map(|watch| tree.path(watch).expect("it has a path")).collect();
                let count = paths.len();
                paths.sort();
                paths.dedup();
                prop_assert_eq!(paths.len(), count);
            }
        }
    }
}
