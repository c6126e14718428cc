//! Secrets and names by a form that a standard, or everybody, gives them.

use super::{Rule, bearer, host, shape, shape_if};
use crate::looks::basic_credentials;

pub(super) const FORMS: &[Rule] = &[
    Rule {
        name: "jwt",
        what: "JSON web tokens",
        finds: shape("eyJ", r"eyJ[A-Za-z0-9_-]{8,}\.[A-Za-z0-9_-]{8,}(?:\.[A-Za-z0-9_-]*)?"),
        source: "RFC 7519: base64 of an object, a dot, base64 of an object",
        hides: "id «eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxMjM0In0.dozjgNryP4J3jVmNHl0w5N_XgL0n3I9P»",
        keeps: "eyJ begins base64 of an object",
    },
    Rule {
        name: "bearer",
        what: "bearer tokens without their header",
        finds: shape_if(bearer, "bearer", r"(?i-u:bearer)[ \t]+([A-Za-z0-9._~+/=-]{6,})"),
        source: "RFC 6750",
        hides: "sent Bearer «abc123def456» twice",
        keeps: "Bearer authentication is on",
    },
    Rule {
        name: "basic",
        what: "basic credentials without their header",
        finds: shape_if(basic_credentials, "basic", r"(?i-u:basic)[ \t]+([A-Za-z0-9+/_-]{6,}={0,2})"),
        source: "RFC 7617",
        hides: "sent Basic «dXNlcjpwYXNz» twice",
        keeps: "Basic authentication and basic Configuration",
    },
    Rule {
        name: "data-url",
        what: "pictures and sounds in a request",
        finds: shape("data:", "data:[a-z]+/[A-Za-z0-9.+-]+;base64,([A-Za-z0-9+/=_-]{8,})"),
        source: "RFC 2397",
        hides: r#""url":"data:image/png;base64,«iVBORw0KGgo=»""#,
        keeps: r#"data: {"choices":[]}"#,
    },
    Rule {
        name: "ec2-host",
        what: "EC2 host names, which have the address in them",
        finds: host(|_| true, "ip-", r"ip-[0-9]{1,3}(?:-[0-9]{1,3}){3}(?:\.[A-Za-z0-9-]+)*"),
        source: "AWS, EC2 User Guide, instance hostname types: IP address-based naming",
        hides: "node «ip-10-0-1-23.ec2.internal» ready",
        keeps: "ip-10 and ip-10-0",
    },
];
