//! Hosts, users, addresses and keys of those who run the server.

use super::{Finds, Part, Rule};

pub(super) const OWNERS: &[Rule] = &[
    Rule {
        name: "host-field",
        what: "hosts by the name of their field",
        finds: Finds::HostField {
            names: "host hostname host_name nodename node_name node fqdn instance exported_instance \
            master_addr master_host remote_host remote_addr peer peer_host server_name \
            server_addr dist_init_addr head_node kubernetes_node _hostname",
        },
        source: "common use; --host, MASTER_ADDR and SGLang's --dist-init-addr",
        hides: "connected hostname: «gpu-7.acme.example», rank 0",
        keeps: "'host': '127.0.0.1', host=localhost, node: 0, instance=core.py, host=None",
    },
    Rule {
        name: "user-field",
        what: "users by the name of their field",
        finds: Finds::UserField {
            names: "user username user_name logname sudo_user login uid user_id end_user remote_user auth_user \
            client_username x_forwarded_user x_remote_user",
        },
        source: "common use",
        hides: "sshd: user=«alice» accepted",
        keeps: r#"user=root, uid=1000, "user":null"#,
    },
    Rule {
        name: "url-credentials",
        what: "user and password in a URL",
        finds: Finds::Structure { needles: "://", part: Part::UrlCredentials },
        source: "RFC 3986",
        hides: "proxy http://«alice:hun/ter2»@localhost:3128/x",
        keeps: "http://localhost:3128/a@b",
    },
    Rule {
        name: "url-host",
        what: "hosts in URLs",
        finds: Finds::Structure { needles: "", part: Part::UrlHost },
        source: "RFC 3986",
        hides: "forwarding to http://«vllm-7.acme.example»:8000/v1",
        keeps: "see https://docs.vllm.ai/en/latest/ and http://localhost:8000 and s3://models/llama",
    },
    Rule {
        name: "mail",
        what: "e-mail addresses",
        finds: Finds::Structure { needles: "@ %40", part: Part::Mail },
        source: "RFC 5322, the plain part",
        hides: "from «ann.lee+ml@acme.example» today",
        keeps: "@torch.compile and model@main",
    },
    Rule {
        name: "home",
        what: "user names in paths",
        finds: Finds::Structure {
            needles: r"/home/ /users/ /var/mail/ /var/spool/mail/ \users\ \home\ \/home\/ %2fhome%2f %5cusers%5c",
            part: Part::Home,
        },
        source: "common use",
        hides: r"cache at /home/«alice»/.cache/huggingface and c:\users\«Ann Lee»\models",
        keeps: "route /home/ and /root/models",
    },
    Rule {
        name: "full-host-name",
        what: "full host names in plain text",
        finds: Finds::Structure {
            needles: ".internal .local .lan .corp .intra .com .org .edu .gov .net .io .ai .cloud .example",
            part: Part::FullHostName,
        },
        source: "names private networks end in, and those nobody gives a module",
        hides: "could not reach «db-3.acme.internal»: timeout",
        keeps: "threading.local, vllm.v1.engine, core.py:12, scipy.io, self.net, meta-llama/Llama-3.1-8B",
    },
    Rule {
        name: "private-key",
        what: "private keys, all of their lines",
        finds: Finds::Structure { needles: "-----begin", part: Part::PrivateKey },
        source: "RFC 7468",
        hides: r#"key "-----BEGIN RSA PRIVATE KEY-----«\nMIIEow\n»-----END RSA PRIVATE KEY-----""#,
        keeps: "-----BEGIN CERTIFICATE-----",
    },
    Rule {
        name: "address",
        what: "IP addresses",
        finds: Finds::Structure { needles: "", part: Part::Address },
        source: "RFC 4291, RFC 1918; loopback, unspecified, link-local and multicast ones say nothing of the owner",
        hides: "from «10.80.23.18»:51408 and [«2001:db8::7»]:80",
        keeps: "0.0.0.0, 127.0.0.1:80, ::1, 169.254.169.254, version 12.4.5.8, v1.2.3.4, x==9.1.0.70",
    },
];
