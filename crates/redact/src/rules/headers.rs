//! Headers of requests and answers that are secrets, beside those that every standard names.

use super::{Extent, Finds, Rule, secret, shape_if};

pub(super) const HEADERS: &[Rule] = &[
    Rule {
        name: "signature-header",
        what: "signatures in headers",
        finds: Finds::Secret {
            names: "x_signature x_hub_signature x_slack_signature x_gitlab_signature x_amz_signature amz_signature \
            stripe_signature webhook_signature request_signature signature_256 x_shopify_hmac hmac_sha256",
            extent: Extent::Rest,
        },
        source: "GitHub's, Slack's, Stripe's and Shopify's webhooks; AWS Signature Version 4",
        hides: "X-Signature: «letmein»",
        keeps: "x-signature: missing, the signature of forward(): (x, y), X-Signature is required",
    },
    Rule {
        name: "session-header",
        what: "tokens and sessions in headers",
        finds: secret(
            "x_csrftoken x_xsrftoken x_csrf x_xsrf csrfmiddlewaretoken x_session x_session_id oidc_data \
            oidc_accesstoken x_authenticated access_jwt x_ms_token",
        ),
        source: "Django's and Rails' forms; AWS' load balancers; Cloudflare Access",
        hides: "{'X-CSRFToken': '«letmein»', 'X-Session-Id': '«letmein2»'}",
        keeps: "x-request-id: 12, csrf: on",
    },
    Rule {
        name: "set-header",
        what: "secrets in headers that a proxy sets",
        finds: shape_if(
            |value| !value.trim_start_matches(['"', '\'', ' ']).starts_with('$'),
            "proxy_set_header add_header set_header",
            r#"(?:proxy_set_header|add_header|set_header)[ \t]+["']?(?i-u:authorization|proxy-authorization|cookie|set-cookie|x-[a-z-]*(?:token|auth|key|signature|secret)[a-z-]*)["']?[ \t]+("[^"\r\n]*"|'[^'\r\n]*'|[^ \t\r\n;]+)"#,
        ),
        source: "nginx's proxy and headers modules",
        hides: "proxy_set_header X-Auth-Token «letmein»;",
        keeps: "proxy_set_header Authorization $http_authorization; add_header X-Frame-Options DENY;",
    },
];
