//! Declarations, and which samples they hold for.

use super::*;

#[test]
fn a_family_gathers_type_help_and_unit() {
    let text = "# HELP kv_bytes Cache in use: C:\\\\x\\nper \\\"engine\\\".\n# TYPE kv_bytes gauge\n# UNIT kv_bytes bytes\n# EOF\n";
    let exposition = whole(text);
    let family = exposition.families[0];
    assert_eq!((family.name, family.kind, family.unit), ("kv_bytes", Kind::Gauge, Some("bytes")));
    assert_eq!(family.help, Some("Cache in use: C:\\\\x\\nper \\\"engine\\\"."));
    assert_eq!(family.help_text().as_deref(), Some("Cache in use: C:\\x\nper \"engine\"."));
}

#[test]
fn help_may_be_empty_and_keeps_its_inner_blanks() {
    assert_eq!(whole("# HELP up\n").families[0].help, Some(""));
    assert_eq!(whole("#\tHELP  up \t a  b \n").families[0].help, Some("a  b "));
}

#[test]
fn all_types_are_known_in_any_case() {
    let words = "counter gauge histogram summary gaugehistogram stateset info unknown untyped Gauge COUNTER";
    let lines: Vec<String> = words
        .split(' ')
        .enumerate()
        .map(|(at, word)| {
            format!(
                "# TYPE m{at} {word} 
"
            )
        })
        .collect();
    let text = lines.concat();
    let kinds: Vec<Kind> = whole(&text).families.iter().map(|family| family.kind).collect();
    let expected =
        [Kind::Counter, Kind::Gauge, Kind::Histogram, Kind::Summary, Kind::GaugeHistogram, Kind::StateSet];
    assert_eq!(kinds[..6], expected);
    assert_eq!(kinds[6..], [Kind::Info, Kind::Unknown, Kind::Unknown, Kind::Gauge, Kind::Counter]);
}

#[test]
fn a_repeated_declaration_keeps_what_was_said_first() {
    let exposition =
        whole("# TYPE a counter\na 1\n# TYPE b gauge\nb 1\n# HELP a later\n# TYPE a gauge\na 2\n");
    assert_eq!(exposition.families.len(), 2);
    assert_eq!((exposition.families[0].kind, exposition.families[0].help), (Kind::Counter, Some("later")));
    assert_eq!(families_of(&exposition), [Some("a"), Some("b"), Some("a")]);
}

#[test]
fn suffixes_belong_to_the_family_as_its_type_allows() {
    let text = "# TYPE req counter\nreq_total 1\nreq_created 2\nreq_sum 3\n\
        # TYPE lat histogram\nlat_bucket{le=\"1\"} 1\nlat_sum 1\nlat_count 1\nlat_created 1\nlat_total 1\n\
        # TYPE sz summary\nsz{quantile=\"0.5\"} 1\nsz_sum 1\nsz_count 1\nsz_bucket 1\n\
        # TYPE gh gaugehistogram\ngh_bucket{le=\"1\"} 1\ngh_gcount 1\ngh_gsum 1\n\
        # TYPE build info\nbuild_info 1\n\
        # TYPE depth gauge\ndepth 1\ndepth_total 1\n";
    let exposition = whole(text);
    let expected = [
        [Some("req"); 2].as_slice(),
        &[None],
        &[Some("lat"); 4],
        &[None],
        &[Some("sz"); 3],
        &[None],
        &[Some("gh"); 3],
        &[Some("build"), Some("depth"), None],
    ];
    assert_eq!(families_of(&exposition), expected.concat());
}

#[test]
fn a_histogram_may_end_in_total() {
    let text = "# TYPE vllm:iteration_tokens_total histogram\n\
        vllm:iteration_tokens_total_bucket{le=\"1.0\"} 4\nvllm:iteration_tokens_total_count 4\n";
    let exposition = whole(text);
    assert_eq!(exposition.family_of(&exposition.samples[0]).map(|family| family.kind), Some(Kind::Histogram));
    assert_eq!(families_of(&exposition), [Some("vllm:iteration_tokens_total"); 2]);
}

#[test]
fn created_is_its_own_family_where_the_server_declares_it() {
    let text =
        "# TYPE tokens_total counter\ntokens_total 5\n# TYPE tokens_created gauge\ntokens_created 1.7e+09\n";
    assert_eq!(families_of(&whole(text)), [Some("tokens_total"), Some("tokens_created")]);
}

#[test]
fn samples_out_of_order_still_find_their_family() {
    let text =
        "early 1\n# TYPE lat histogram\n# TYPE early gauge\nlat_sum 1\nearly 2\nlat_count 3\nlat_total 3\n";
    assert_eq!(families_of(&whole(text)), [None, Some("lat"), Some("early"), Some("lat"), None]);
}

#[test]
fn a_type_that_comes_after_the_samples_counts_from_there() {
    let text = "# HELP lat Latency.\nlat_sum 1\n# TYPE lat histogram\nlat_sum 2\n";
    assert_eq!(families_of(&whole(text)), [None, Some("lat")]);
}
