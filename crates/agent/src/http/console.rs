use axum::{
    Router,
    body::Bytes,
    http::{
        HeaderMap, HeaderName, StatusCode,
        header::{
            CACHE_CONTROL, CONTENT_ENCODING, CONTENT_SECURITY_POLICY, CONTENT_TYPE, ETAG,
            IF_NONE_MATCH, REFERRER_POLICY, X_CONTENT_TYPE_OPTIONS,
        },
    },
    response::{IntoResponse, Response},
    routing::get,
};
use rust_embed::{EmbeddedFile, RustEmbed};

use super::{App, error::ApiError};

/// The files of the browser console. By default there are none, and its page says so.
#[derive(Clone, Debug, Default)]
pub struct Console(Vec<(String, ConsoleFile)>);

/// The page.
const INDEX: &str = "index.html";
/// Where names have a hash of the content in them.
const HASHED_FOLDER: &str = "assets/";

/// What a file is called besides its name where it is compressed (RFC 1952).
const GZIP_SUFFIX: &str = ".gz";

/// The page holds a token that may run commands: it loads and reaches nothing but the agent, and no
/// other page can put it in a frame or keep a handle on it. The colours of a terminal's text are style
/// attributes.
const SECURITY_HEADERS: [(HeaderName, &str); 4] = [
    (
        CONTENT_SECURITY_POLICY,
        "default-src 'none'; script-src 'self' 'wasm-unsafe-eval'; style-src 'self'; \
         style-src-attr 'unsafe-inline'; img-src 'self' data:; font-src 'self'; connect-src 'self'; base-uri 'none'; \
         form-action 'none'; frame-ancestors 'none'",
    ),
    (X_CONTENT_TYPE_OPTIONS, "nosniff"),
    (REFERRER_POLICY, "no-referrer"),
    (HeaderName::from_static("cross-origin-opener-policy"), "same-origin"),
];

impl Console {
    /// Those that a program has embedded. A file whose name ends with `.gz` is compressed: it is served under the name without that.
    #[must_use]
    pub fn embedded<Files: RustEmbed>() -> Self {
        let files = Files::iter().filter_map(|embedded_as| {
            let file = Files::get(&embedded_as)?;
            let plain_path = embedded_as.strip_suffix(GZIP_SUFFIX);
            let path = plain_path.unwrap_or(&embedded_as);
            Some((path.to_owned(), ConsoleFile::new(path, plain_path.is_some(), file)))
        });
        Self(files.collect())
    }

    /// A route for each file, the page's at `/`. They need no token: there is no secret in them.
    pub(super) fn routes(self) -> Router<App> {
        let is_built = self.0.iter().any(|(path, _)| path == INDEX);
        let router = self.0.into_iter().fold(Router::new(), |router, (path, file)| {
            let address = if path == INDEX { "/" } else { &format!("/{path}") };
            router.route(address, get(async move |headers: HeaderMap| file.answer(&headers)))
        });
        if is_built { router } else { router.route("/", get(not_built)) }
    }
}

async fn not_built() -> ApiError {
    ApiError::new(
        StatusCode::NOT_FOUND,
        "this agent was compiled without the console: `npm run build` in a checkout of Sandpipe \
         builds one with it; /openapi.json lists what there is",
    )
}

/// A file and what is said of it.
#[derive(Clone, Debug)]
struct ConsoleFile {
    content: Bytes,
    /// Whether the content is compressed by gzip. There is no other copy: whoever does not take gzip gets it all the same. Every browser
    /// takes it, and a request that names no encoding takes any (RFC 9110, 12.5.3).
    is_gzip: bool,
    content_type: String,
    entity_tag: String,
    cache_control: &'static str,
}

impl ConsoleFile {
    fn new(path: &str, is_gzip: bool, EmbeddedFile { data, metadata }: EmbeddedFile) -> Self {
        let mut content_type = mime_guess::from_path(path).first_or_octet_stream().to_string();
        if content_type.starts_with("text/") {
            content_type.push_str("; charset=utf-8");
        }
        let hash = metadata.sha256_hash().first_chunk().copied().map(u128::from_be_bytes);
        Self {
            content: Bytes::from_owner(data),
            is_gzip,
            content_type,
            entity_tag: format!("\"{:032x}\"", hash.unwrap_or_default()),
            cache_control: if path.starts_with(HASHED_FOLDER) {
                "public, max-age=31536000, immutable"
            } else {
                "no-cache"
            },
        }
    }

    fn answer(&self, headers: &HeaderMap) -> Response {
        let validity = [(CACHE_CONTROL, self.cache_control), (ETAG, self.entity_tag.as_str())];
        if self.is_known(headers) {
            return (StatusCode::NOT_MODIFIED, SECURITY_HEADERS, validity).into_response();
        }
        let content_type = [(CONTENT_TYPE, self.content_type.as_str())];
        let content_encoding = self.is_gzip.then_some([(CONTENT_ENCODING, "gzip")]);
        let headers = (SECURITY_HEADERS, validity, content_type, content_encoding);
        (headers, self.content.clone()).into_response()
    }

    /// Whether the client says that it has this content (RFC 9110, 13.1.2: the comparison is weak).
    fn is_known(&self, headers: &HeaderMap) -> bool {
        let fields = headers.get_all(IF_NONE_MATCH).iter().filter_map(|field| field.to_str().ok());
        let mut tags = fields.flat_map(|field| field.split(',')).map(str::trim);
        tags.any(|tag| tag == "*" || tag.trim_start_matches("W/") == self.entity_tag)
    }
}
