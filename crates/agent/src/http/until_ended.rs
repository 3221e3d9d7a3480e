use std::{
    io,
    pin::Pin,
    task::{Context, Poll},
};

use axum::body::{Body, Bytes};
use futures_util::FutureExt;
use hyper::body::{Frame, SizeHint};

use crate::tokens::Access;

/// A body that breaks when its token expires or is revoked.
pub(super) struct UntilEnded {
    body: Body,
    ended: Pin<Box<dyn Future<Output = ()> + Send>>,
}

impl UntilEnded {
    /// The same body for tokens that never end.
    pub(super) fn of(body: Body, access: &Access) -> Body {
        if access.token_id().is_none() {
            return body;
        }
        let access = access.clone();
        Body::new(Self { body, ended: Box::pin(async move { access.ended().await }) })
    }
}

impl hyper::body::Body for UntilEnded {
    type Data = Bytes;
    type Error = axum::Error;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, axum::Error>>> {
        if self.ended.poll_unpin(context).is_ready() {
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
