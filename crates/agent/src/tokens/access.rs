use std::{path::Path, sync::Arc};

use super::{ScopedToken, TokenId};
use crate::token::Role;

/// Need of a request. Its route states it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Need {
    /// The admin token.
    Admin,
    /// The admin or the read-only token.
    ReadAll,
    /// Any token: the answer shows the execs that it may read.
    ListExecs,
    /// To read this exec.
    ReadExec,
    /// To type into this exec.
    TypeIntoExec,
    /// To start, signal or delete this exec.
    ManageExec,
    CreateCommands,
    ReadFiles,
    WriteFiles,
}

/// Rights of a request's token.
#[derive(Clone, Debug)]
pub(crate) enum Access {
    Admin,
    /// List and get execs, and read their output.
    ReadOnly,
    Scoped(Arc<ScopedToken>),
}

/// An exec that is asked for, and the token that has created it.
#[derive(Clone, Copy, Debug)]
pub(crate) struct ExecRef<'a> {
    pub(crate) id: &'a str,
    pub(crate) creator: Option<&'a TokenId>,
}

/// Reason to refuse a request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Refusal {
    /// The token may not do this.
    Forbidden(&'static str),
    /// For this token there is no such thing.
    NotFound,
}

const READ_ONLY: Refusal = Refusal::Forbidden(
    "the token is read-only: it may list and get execs and read their output, and neither read files nor connect to ports",
);
const SCOPED: Refusal = Refusal::Forbidden("the token is scoped, and this needs the admin token");
const CREATE: Refusal =
    Refusal::Forbidden("the token may not create commands: it lacks the scope `createCommands`");
const TYPE: Refusal = Refusal::Forbidden(
    "the token may read this exec, not type into it: it lacks the scope `typeInto` for it",
);
const MANAGE: Refusal = Refusal::Forbidden(
    "the token may not start, signal or delete this exec: only the admin token and the token that created it may",
);
const READ_FILES: Refusal =
    Refusal::Forbidden("the token may not read files: it lacks the scope `readFiles`");
const WRITE_FILES: Refusal =
    Refusal::Forbidden("the token may not write files: it lacks the scope `writeFiles`");

impl Access {
    /// Returns what its connections count as.
    pub(crate) fn role(&self) -> Role {
        match self {
            Self::Admin => Role::Admin,
            Self::ReadOnly | Self::Scoped(_) => Role::ReadOnly,
        }
    }

    /// Decides about a request by its route alone. What a route leaves open, [`Self::check_exec`] and [`Self::directory`]
    /// decide.
    pub(crate) fn check(&self, need: Need) -> Result<(), Refusal> {
        match self {
            Self::Admin => Ok(()),
            Self::ReadOnly => match need {
                Need::ReadAll | Need::ListExecs | Need::ReadExec => Ok(()),
                _ => Err(READ_ONLY),
            },
            Self::Scoped(token) => match need {
                Need::Admin | Need::ReadAll => Err(SCOPED),
                Need::ListExecs | Need::ReadExec | Need::TypeIntoExec | Need::ManageExec => Ok(()),
                Need::CreateCommands if token.scopes.create_commands => Ok(()),
                Need::CreateCommands => Err(CREATE),
                Need::ReadFiles | Need::WriteFiles => self.directory(need).map(drop),
            },
        }
    }

    /// Decides what may be done with an exec. One that the token may not read is not there for it.
    pub(crate) fn check_exec(&self, need: Need, exec: ExecRef<'_>) -> Result<(), Refusal> {
        let Self::Scoped(token) = self else {
            return self.check(need);
        };
        let is_own = exec.creator == Some(&token.id);
        if !is_own && !token.scopes.reads(exec.id) {
            return Err(Refusal::NotFound);
        }
        match need {
            Need::ReadExec => Ok(()),
            Need::TypeIntoExec if is_own || token.scopes.types_into(exec.id) => Ok(()),
            Need::ManageExec if is_own => Ok(()),
            Need::TypeIntoExec => Err(TYPE),
            Need::ManageExec => Err(MANAGE),
            _ => Err(SCOPED),
        }
    }

    /// Returns whether it may read an exec.
    pub(crate) fn reads(&self, exec: ExecRef<'_>) -> bool {
        self.check_exec(Need::ReadExec, exec).is_ok()
    }

    /// The directory that it may read or write files below; none where it may do so everywhere.
    pub(crate) fn directory(&self, need: Need) -> Result<Option<&Arc<Path>>, Refusal> {
        let Self::Scoped(token) = self else {
            return self.check(need).map(|()| None);
        };
        let (directory, refusal) = match need {
            Need::ReadFiles => (&token.scopes.read_files, READ_FILES),
            Need::WriteFiles => (&token.scopes.write_files, WRITE_FILES),
            _ => return Err(SCOPED),
        };
        directory.as_ref().map(Some).ok_or(refusal)
    }

    /// The id of a scoped token, whose own the execs are that it creates.
    pub(crate) fn token_id(&self) -> Option<&TokenId> {
        match self {
            Self::Admin | Self::ReadOnly => None,
            Self::Scoped(token) => Some(&token.id),
        }
    }

    /// Waits until it has expired or was revoked.
    pub(crate) async fn ended(&self) {
        match self {
            Self::Admin | Self::ReadOnly => std::future::pending().await,
            Self::Scoped(token) => token.ended().await,
        }
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;
    use crate::tokens::Scopes;

    const NEEDS: [Need; 9] = [
        Need::Admin,
        Need::ReadAll,
        Need::ListExecs,
        Need::ReadExec,
        Need::TypeIntoExec,
        Need::ManageExec,
        Need::CreateCommands,
        Need::ReadFiles,
        Need::WriteFiles,
    ];

    fn scoped(id: &str, scopes: Scopes) -> Access {
        Access::Scoped(Arc::new(ScopedToken::new(id.into(), "", scopes, Duration::from_mins(1))))
    }

    fn ids<const N: usize>(ids: [&str; N]) -> std::collections::BTreeSet<String> {
        ids.map(str::to_owned).into()
    }

    fn allowed(access: &Access) -> Vec<Need> {
        NEEDS.into_iter().filter(|need| access.check(*need).is_ok()).collect()
    }

    #[test]
    fn a_token_may_do_what_it_was_made_for() {
        assert_eq!(allowed(&Access::Admin), NEEDS);
        let reading = [Need::ReadAll, Need::ListExecs, Need::ReadExec];
        assert_eq!(allowed(&Access::ReadOnly), reading);
        let of_execs = [Need::ListExecs, Need::ReadExec, Need::TypeIntoExec, Need::ManageExec];
        let more = |scopes: Scopes| {
            let mut allowed = allowed(&scoped("t", scopes));
            allowed.retain(|need| !of_execs.contains(need));
            allowed
        };
        let none = Scopes::default();
        assert_eq!(more(none.clone()), []);
        let creating = Scopes { create_commands: true, ..none.clone() };
        assert_eq!(more(creating), [Need::CreateCommands]);
        let directory = || Some(Path::new("/dir").into());
        let reading = Scopes { read_files: directory(), ..none.clone() };
        assert_eq!(more(reading), [Need::ReadFiles]);
        assert_eq!(more(Scopes { write_files: directory(), ..none }), [Need::WriteFiles]);
    }

    #[test]
    fn an_exec_that_a_token_may_not_read_is_not_there_for_it() {
        let (own, other): (TokenId, TokenId) = ("own".into(), "other".into());
        let scopes =
            Scopes { read_execs: ids(["read"]), type_into: ids(["type"]), ..Scopes::default() };
        let access = scoped("own", scopes);
        let needs = [Need::ReadExec, Need::TypeIntoExec, Need::ManageExec];
        let check =
            |id, creator| needs.map(|need| access.check_exec(need, ExecRef { id, creator }));
        let not_found = [Err(Refusal::NotFound); 3];
        assert_eq!(check("read", None), [Ok(()), Err(TYPE), Err(MANAGE)]);
        assert_eq!(check("read", Some(&other)), [Ok(()), Err(TYPE), Err(MANAGE)]);
        assert_eq!(check("type", None), [Ok(()), Ok(()), Err(MANAGE)]);
        assert_eq!(check("new", Some(&own)), [Ok(()); 3]);
        for id in ["new", "rea", "readd", "READ", ""] {
            assert_eq!(check(id, None), not_found, "{id}");
            assert_eq!(check(id, Some(&other)), not_found, "{id}");
        }
        let all = |access: Access, need| {
            access.check_exec(need, ExecRef { id: "x", creator: Some(&own) })
        };
        assert_eq!(needs.map(|need| all(Access::Admin, need)), [Ok(()); 3]);
        let read_only = needs.map(|need| all(Access::ReadOnly, need));
        assert_eq!(read_only, [Ok(()), Err(READ_ONLY), Err(READ_ONLY)]);
    }
}
