use std::{
    io,
    pin::Pin,
    task::{Context, Poll},
};

use axum::body::{Body, Bytes};
use futures_util::{
    FutureExt,
    future::{BoxFuture, Fuse, FusedFuture},
};
use hyper::body::{Frame, SizeHint};

use crate::tokens::Access;

/// A body that breaks when its token expires or is revoked.
pub(super) struct UntilEnded {
    body: Body,
    ended: Fuse<BoxFuture<'static, ()>>,
}

impl UntilEnded {
    /// The same body for tokens that never end.
    pub(super) fn of(body: Body, access: &Access) -> Body {
        if access.token_id().is_none() {
            return body;
        }
        let access = access.clone();
        let ended = async move { access.ended().await };
        Body::new(Self { body, ended: ended.boxed().fuse() })
    }
}

impl hyper::body::Body for UntilEnded {
    type Data = Bytes;
    type Error = axum::Error;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, axum::Error>>> {
        if self.ended.is_terminated() || self.ended.poll_unpin(context).is_ready() {
            let error = io::Error::other("the token has expired or was revoked");
            return Poll::Ready(Some(Err(axum::Error::new(error))));
        }
        Pin::new(&mut self.body).poll_frame(context)
    }

    fn is_end_stream(&self) -> bool {
        self.body.is_end_stream()
    }

    fn size_hint(&self) -> SizeHint {
        self.body.size_hint()
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use futures_util::{StreamExt, stream};

    use super::*;
    use crate::tokens::{ScopedTokens, Scopes};

    #[tokio::test]
    async fn a_body_stays_broken_once_its_token_has_ended() {
        let tokens = ScopedTokens::default();
        let (_, token) = tokens.create(Scopes::default(), Duration::from_mins(1)).unwrap();
        let pieces = stream::repeat_with(|| Ok::<_, io::Error>(Bytes::from_static(b"x")));
        let access = Access::Scoped(token.clone());
        let mut body = UntilEnded::of(Body::from_stream(pieces), &access).into_data_stream();
        assert!(body.next().await.unwrap().is_ok());
        tokens.revoke(&token.id);
        for _ in 0..3 {
            assert!(body.next().await.unwrap().is_err());
        }
    }
}
