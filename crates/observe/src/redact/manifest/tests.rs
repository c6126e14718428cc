use proptest::prelude::*;

use super::*;

fn safe(name: &str, text: &str) -> ManifestText {
    let given = ManifestText { name: name.into(), changed: None, text: text.into() };
    manifest(given, &Redactor::new()).unwrap()
}

const UNIT: &str = "[Service]\nEnvironment=HF_TOKEN=canaryOne42 \"VLLM_API_KEY=canaryTwo42\"\n# was --api-key canarySix42\nExecStart=vllm serve m --api-key \\\n  canaryThree42 --max-num-seqs 4 \\\n  --hf-token=canaryFour42\n";
const POD: &str = "kind: Pod\nspec:\n  containers:\n    - name: a\n      image: vllm/vllm-openai:v0.32.0\n      args:\n        - --api-key\n        - canaryOne42\n        - --max-num-seqs\n        - \"32\"\n        - --hf-token=canaryTwo42\n      env:\n        - name: HF_TOKEN\n          value: canaryThree42\n        - {name: DB_PASSWORD, value: \"canaryFour42\"}\n---\nkind: Secret\nstringData:\n  plain: canaryFive42\n";
const COMPOSE: &str = "services:\n  llm:\n    image: vllm/vllm-openai\n    environment:\n      API_KEY: canaryOne42\n      LIST: |\n        a\n    command: [\"--api-key\", \"canaryTwo42\", \"--max-num-seqs\", \"32\"]\n  db:\n    environment:\n      - POSTGRES_PASSWORD=canaryThree42\n";

#[test]
fn no_secret_of_a_manifest_is_left_and_its_flags_are() {
    for (name, text) in [("a.service", UNIT), ("pod.yaml", POD), ("compose.yaml", COMPOSE)] {
        let safe = safe(name, text);
        assert!(!safe.text.contains("canary"), "{}", safe.text);
        assert_eq!(safe.text.lines().count(), text.lines().count());
        let launches = read_manifest(name, &safe.text).unwrap();
        let words: Vec<&str> = launches[0].words.iter().map(|w| w.text.as_str()).collect();
        assert!(words.contains(&"--max-num-seqs"), "{words:?}");
    }
}

#[test]
fn redacting_twice_changes_nothing() {
    for (name, text) in [("a.service", UNIT), ("pod.yaml", POD), ("compose.yaml", COMPOSE)] {
        let once = safe(name, text);
        assert_eq!(safe(name, &once.text), once);
    }
}

fn words(name: &str, text: &str) -> Vec<String> {
    let launches = read_manifest(name, &safe(name, text).text).unwrap();
    launches[0].words.iter().map(|word| word.text.clone()).collect()
}

/// Everything that runs beside the server, before it and to look at it.
const AROUND: &str = r#"kind: Deployment
metadata:
  annotations:
    run: "docker login -u a -p letmeinCANARY7 reg"
    note: call curl -u admin:letmeinCANARY13 http://x first
    kubectl.kubernetes.io/last-applied-configuration: |
      {"kind":"Pod","spec":{"containers":[{"args":["--max-num-seqs","32","--api-key","letmeinCANARY14"],"env":[{"name":"HF_TOKEN","value":"letmeinCANARY15"}]}]}}
spec:
  template:
    spec:
      initContainers:
        - name: fetch
          command:
            - fetch-model
            - --token
            - letmeinCANARY1
            - --password
            - letmeinCANARY2
          env:
            - name: AWS_SECRET_ACCESS_KEY
              value: letmeinCANARY3
      containers:
        - name: a
          image: vllm/vllm-openai:v0.10.0
          args: [--max-num-seqs, 32, --hf-token=letmeinCANARY16]
          lifecycle:
            postStart:
              exec:
                command:
                  - curl
                  - -u
                  - admin:letmeinCANARY4
                  - http://127.0.0.1
          livenessProbe:
            exec:
              command: ["curl", "-H", "X-Api-Key: letmeinCANARY5", "http://x"]
          readinessProbe:
            exec:
              command:
                - check
                - --api-key
                - letmeinCANARY6
      ephemeralContainers:
        - name: z
          args:
            - --hf-token
            - "letmein\x43ANARY8"
        - name: y
          command: [sh, -c]
          args:
            - |
              set -e
              exec vllm serve m --max-model-len 4096 \
                --api-key \
                letmeinCANARY17 --max-num-batched-tokens 8192
"#;

const BESIDE: &str = r#"services:
  llm:
    image: vllm/vllm-openai
    command: --max-num-seqs 32
    healthcheck:
      test:
        - CMD
        - probe
        - --api-key
        - letmeinCANARY9
    post_start:
      - command: ["login", "--password", "letmeinCANARY11"]
x-key: &key letmeinCANARY18
x-args: &args
  - --api-key
  - letmeinCANARY12
x-more: [--hf-token, *key]
x-folded: >-
  probe --timeout 5
  --password
  letmeinCANARY19
  --retries 3
"#;

const BEFORE: &str = "[Service]\nEnvironment=A_PASSWORD=letmeinCANARY1 \"B_PASSWORD=two letmeinCANARY2\" C=1\nExecStartPre=/bin/fetch --token \\\n# nobody reads this\n   letmeinCANARY3 --retries 3\nExecStop=curl -uadmin:letmeinCANARY4 http://x\nEnvironment=K=letmeinCANARY5\nExecStart=vllm serve m --max-num-seqs 4 --api-key ${K}\n";

#[test]
fn what_no_launched_container_uses_has_no_secrets_either() {
    for (name, text) in [("k.yaml", AROUND), ("compose.yaml", BESIDE), ("a.service", BEFORE)] {
        let safe = safe(name, text).text;
        assert!(!safe.contains("CANARY") && !safe.contains("\\x43"), "{safe}");
        assert_eq!(safe.lines().count(), text.lines().count());
        assert_eq!(self::safe(name, &safe).text, safe);
    }
    let kept = safe("k.yaml", AROUND).text;
    for part in [
        "\"--max-num-seqs\",\"32\"",
        "--max-model-len 4096",
        "--max-num-batched-tokens 8192",
        "http://127.0.0.1",
    ] {
        assert!(kept.contains(part), "{part} in {kept}");
    }
    assert_eq!(words("k.yaml", AROUND)[..3], ["--max-num-seqs", "32", "--hf-token=[redacted]"]);
    let kept = safe("compose.yaml", BESIDE).text;
    assert!(kept.contains("probe --timeout 5") && kept.contains("--retries 3"), "{kept}");
    let kept = safe("a.service", BEFORE).text;
    assert!(
        kept.contains("--retries 3\n") && kept.contains("\" C=1\n") && kept.contains("# nobody"),
        "{kept}"
    );
}

#[test]
fn a_secret_is_hidden_where_it_stands_and_the_same_text_elsewhere_stays() {
    let unit = "[Service]\nExecStart=vllm serve m --max-num-seqs 32 --api-key 32\n";
    assert_eq!(
        words("a.service", unit),
        ["vllm", "serve", "m", "--max-num-seqs", "32", "--api-key", "[redacted]"]
    );
    let unit = "[Service]\nExecStart=vllm serve a --max-num-seqs 32 --api-key a\n";
    assert_eq!(
        words("a.service", unit),
        ["vllm", "serve", "a", "--max-num-seqs", "32", "--api-key", "[redacted]"]
    );
    let pod =
        "kind: Pod\nspec: {containers: [{name: a, args: [--max-num-seqs, 32, --api-key, 32, -tp, 2]}]}\n";
    assert_eq!(words("p.yaml", pod), ["--max-num-seqs", "32", "--api-key", "[redacted]", "-tp", "2"]);
    let compose = "services:\n  a:\n    environment: {SEQS: 32, K: 32}\n    command: --max-num-seqs ${SEQS} --api-key ${KEY:-32}\n";
    // Compose fills a command from its own surroundings, not from the container's.
    assert_eq!(words("compose.yaml", compose), ["--max-num-seqs", "${SEQS}", "--api-key", "[redacted]"]);
}

#[test]
fn a_variable_that_only_the_command_makes_a_secret_is_one() {
    let pod = "kind: Pod\nspec:\n  containers:\n    - name: a\n      env: [{name: K, value: canary42}]\n      args: [--api-key, $(K), --max-num-seqs, '8']\n";
    let safe = safe("p.yaml", pod).text;
    assert!(!safe.contains("canary") && safe.contains("--max-num-seqs, '8'"), "{safe}");
}

#[test]
fn a_secret_written_with_escapes_is_hidden_whole() {
    let text = "kind: Pod\nspec:\n  containers:\n    - name: a\n      args:\n        - --api-key\n        - \"can\\x61ry42\"\n";
    assert!(safe("c.yaml", text).text.ends_with("- \"[redacted]\"\n"));
}

#[test]
fn what_cannot_be_masked_takes_the_file_with_it() {
    // The quotes stand around two lines, and no part of either is the secret's alone.
    let text = "kind: Pod\nspec: [\n";
    let given = ManifestText { name: "c.yaml".into(), changed: None, text: text.into() };
    let why = manifest(given, &Redactor::new()).unwrap_err();
    assert!(why.contains("c.yaml was left out"), "{why}");
}

/// Forms of YAML that a mask put in the wrong place breaks.
const FORMS: [&str; 6] = [
    "    - name: HF_TOKEN\n      value: >-\n        canary42\n",
    "    - name: SYSTEM_PROMPT\n      value: \"You are\n        canary42 bot\"\n    - name: HF_TOKEN\n      value: \"canary42\n        x\"\n",
    "    - name: API_KEY\n      value: |\n        canary42\n",
    "    - name: SECRET_A\n      value: !!str canary42\n    - name: SECRET_B\n      value: &anc canary42\n    - name: OTHER\n      value: *anc\n",
    "    - name: LLM_KEY\n      # between\n      value: canary42\n",
    "    - {name: K_TOKEN, valueFrom: {secretKeyRef: {name: hub, key: token}}}\n  imagePullSecrets: [{name: regcred}]\n  volumes:\n  - name: s\n    secret: {secretName: hub, items: [{key: token, path: tok}]}\n",
];

#[test]
fn folds_blocks_tags_anchors_and_flow_maps_stay_yaml() {
    for form in FORMS {
        let text = [
            "kind: Pod\nspec:\n  containers:\n  - name: a\n    args: [--max-num-seqs, \"8\"]\n    env:\n",
            form,
        ]
        .concat();
        let once = safe("p.yaml", &text).text;
        assert!(!once.contains("canary"), "{once}");
        assert_eq!(once.lines().count(), text.lines().count());
        assert_eq!(words("p.yaml", &text), ["--max-num-seqs", "8"]);
        assert_eq!(safe("p.yaml", &once).text, once);
    }
}

#[test]
fn resources_and_labels_keep_their_names_and_values() {
    let text = "kind: Pod\nspec:\n  nodeSelector:\n    nvidia.com/gpu.product: NVIDIA-H100-80GB-HBM3\n    kubernetes.io/hostname: gpubox81\n  containers:\n  - name: a\n    args: [--max-num-seqs, '8']\n    resources:\n      limits:\n        nvidia.com/gpu: 8\n        vpc.amazonaws.com/efa: 32\n        gpu.acme.com/slots: 4\n";
    let once = safe("p.yaml", text).text;
    for kept in
        ["nvidia.com/gpu.product: NVIDIA-H100-80GB-HBM3\n", "nvidia.com/gpu: 8\n", "efa: 32\n", "/slots: 4\n"]
    {
        assert!(once.contains(kept), "{once}");
    }
    assert!(!once.contains("acme") && !once.contains("gpubox81"), "{once}");
}

#[test]
fn secrets_of_a_list_and_those_that_were_applied_last_are_hidden() {
    let text = "kind: List\nitems:\n- kind: Secret\n  metadata:\n    annotations:\n      kubectl.kubernetes.io/last-applied-configuration: |\n        {\"kind\":\"Secret\",\"data\":{\"foo\":\"canary42\"},\"stringData\":{\"bar\":\"canary42\"}}\n  data:\n    tls: canary42\n- kind: Pod\n  spec: {containers: [{name: a, args: [--max-num-seqs, '8']}]}\n";
    let once = safe("p.yaml", text).text;
    assert!(!once.contains("canary") && once.contains("\"foo\":"), "{once}");
}

/// What may stand in any of them, in any order.
const COMMENTS: [&str; 5] = [
    "# HF_TOKEN=canaryOne42",
    "# was: vllm serve m --api-key canaryTwo42",
    "# -----BEGIN RSA PRIVATE KEY-----\n# canaryThree42\n# -----END RSA PRIVATE KEY-----",
    "#   - name: DB_PASSWORD\n#     value: \"canaryFour42\"",
    "#",
];
const UNITS: [&str; 4] = [
    "Environment=\"HF_TOKEN=canaryFive42\" \"HOSTNAME=canarySix42-gpu\"",
    "ExecStartPre=curl \\\n  -u ann:canarySeven42 x",
    "ExecStart=\nExecStart=vllm serve m --hf-token=canaryEight42",
    "; Environment=API_KEY=canaryNine42",
];
const CONTAINERS: [&str; 3] = [
    "    - name: a\n      args: [--api-key, canaryFive42]",
    "    - name: b\n      env:\n        - name: USER\n          value: canarySix42",
    "    - name: c\n      livenessProbe:\n        exec:\n          command: [curl, -u, \"ann:canarySeven42\"]",
];

fn any_of(more: &'static [&'static str]) -> impl Strategy<Value = String> {
    let all: Vec<&str> = COMMENTS.iter().chain(more).copied().collect();
    prop::collection::vec(prop::sample::select(all), 0..10).prop_map(|pieces| pieces.join("\n"))
}

proptest! {
    #[test]
    fn in_any_order_no_secret_is_left_and_every_line_is(unit in any_of(&UNITS), pod in any_of(&CONTAINERS)) {
        let unit = format!("[Service]\nExecStart=vllm serve m\n{unit}\n");
        let pod = format!("kind: Pod\nspec:\n  containers:\n    - name: x\n      args: [serve]\n{pod}\n");
        for (name, text) in [("a.service", unit), ("pod.yaml", pod)] {
            let once = safe(name, &text);
            prop_assert!(!once.text.contains("canary"), "{}", once.text);
            prop_assert_eq!(once.text.lines().count(), text.lines().count());
            prop_assert_eq!(&safe(name, &once.text), &once);
        }
    }

    #[test]
    fn any_text_is_survived(text in "(\\PC|[\n :=\\-\\[\\]{}\"'$#;|>\\\\]|ExecStart=|Environment=USER=|services:|kind: Pod\n|command:){0,60}") {
        for name in ["x.service", "x.yaml"] {
            let given = ManifestText { name: name.into(), changed: None, text: text.clone() };
            let _ = manifest(given, &Redactor::new());
        }
    }
}
