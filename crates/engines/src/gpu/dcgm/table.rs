//! Which field of DCGM means what, in which unit.

/// What a field means to a card or a sample.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Means {
    Util,
    MemoryUtil,
    SmClock,
    SmClockMost,
    MemoryClock,
    MemoryClockMost,
    Temperature,
    MemoryTemperature,
    SlowdownAt,
    Power,
    PowerEnforced,
    PowerDefault,
    Used,
    Free,
    Reserved,
    Total,
    Reasons,
    HeldByPower,
    HeldByHeat,
    Generation,
    GenerationMost,
    Lanes,
    LanesMost,
    Replays,
    CorrectedVolatile,
    UncorrectedVolatile,
    CorrectedAggregate,
    UncorrectedAggregate,
    RowsCorrected,
    RowsUncorrected,
    RowFailed,
    RowPending,
    Xid,
}

/// One field of DCGM.
pub(super) struct Row {
    pub(super) means: Means,
    /// Its name behind [`PREFIX`], and the one it has since DCGM 4.6 where that differs.
    pub(super) names: [&'static str; 2],
    /// To the unit of the case's type.
    pub(super) scale: f64,
    /// Where name and unit were found.
    #[cfg_attr(not(test), expect(dead_code, reason = "for readers, and the test that no row lacks it"))]
    pub(super) source: &'static str,
}

/// How the series of a device begin.
pub(super) const PREFIX: &str = "DCGM_FI_DEV_";

const MIB: f64 = 1_048_576.0;
/// knowledge/signals.json names field, unit and "verified: source".
const SIGNALS: &str = "signals.json";
/// knowledge/engines.md, section 10: counters on by default and others, units, names since 4.6.
const ENGINES: &str = "engines.md 10";
/// The list of counters dcgm-exporter comes with.
const COUNTERS: &str = "NVIDIA/dcgm-exporter etc/default-counters.csv";
/// The header of the library: field numbers with a line of meaning each.
const FIELDS: &str = "NVIDIA/DCGM dcgmlib/dcgm_fields.h";

const fn row(means: Means, name: &'static str, scale: f64, source: &'static str) -> Row {
    Row { means, names: [name, name], scale, source }
}

const fn renamed(means: Means, names: [&'static str; 2], scale: f64, source: &'static str) -> Row {
    Row { means, names, scale, source }
}

pub(super) const ROWS: &[Row] = &[
    // A percentage still, whatever the new name says.
    renamed(Means::Util, ["GPU_UTIL", "GPU_UTIL_RATIO"], 0.01, SIGNALS),
    row(Means::MemoryUtil, "MEM_COPY_UTIL", 0.01, ENGINES),
    row(Means::SmClock, "SM_CLOCK", 1e6, SIGNALS),
    row(Means::SmClockMost, "MAX_SM_CLOCK", 1e6, SIGNALS),
    row(Means::MemoryClock, "MEM_CLOCK", 1e6, ENGINES),
    row(Means::MemoryClockMost, "MAX_MEM_CLOCK", 1e6, FIELDS),
    renamed(Means::Temperature, ["GPU_TEMP", "GPU_TEMP_CELSIUS"], 1.0, SIGNALS),
    row(Means::MemoryTemperature, "MEMORY_TEMP", 1.0, SIGNALS),
    row(Means::SlowdownAt, "SLOWDOWN_TEMP", 1.0, FIELDS),
    renamed(Means::Power, ["POWER_USAGE", "BOARD_POWER_WATTS"], 1.0, SIGNALS),
    renamed(Means::PowerEnforced, ["ENFORCED_POWER_LIMIT", "BOARD_POWER_LIMIT_ENFORCED_WATTS"], 1.0, SIGNALS),
    row(Means::PowerDefault, "POWER_MGMT_LIMIT_DEF", 1.0, FIELDS),
    row(Means::Used, "FB_USED", MIB, SIGNALS),
    row(Means::Free, "FB_FREE", MIB, SIGNALS),
    row(Means::Reserved, "FB_RESERVED", MIB, SIGNALS),
    row(Means::Total, "FB_TOTAL", MIB, FIELDS),
    renamed(Means::Reasons, ["CLOCK_THROTTLE_REASONS", "CLOCKS_EVENT_REASONS"], 1.0, SIGNALS),
    // Older lists of the exporter say microseconds; the field itself has nanoseconds.
    row(Means::HeldByPower, "POWER_VIOLATION", 1e-9, SIGNALS),
    row(Means::HeldByHeat, "THERMAL_VIOLATION", 1e-9, SIGNALS),
    row(Means::Generation, "PCIE_LINK_GEN", 1.0, SIGNALS),
    row(Means::GenerationMost, "PCIE_MAX_LINK_GEN", 1.0, SIGNALS),
    row(Means::Lanes, "PCIE_LINK_WIDTH", 1.0, SIGNALS),
    row(Means::LanesMost, "PCIE_MAX_LINK_WIDTH", 1.0, SIGNALS),
    renamed(Means::Replays, ["PCIE_REPLAY_COUNTER", "PCIE_REPLAY_TOTAL"], 1.0, SIGNALS),
    row(Means::CorrectedVolatile, "ECC_SBE_VOL_TOTAL", 1.0, SIGNALS),
    row(Means::UncorrectedVolatile, "ECC_DBE_VOL_TOTAL", 1.0, SIGNALS),
    row(Means::CorrectedAggregate, "ECC_SBE_AGG_TOTAL", 1.0, COUNTERS),
    row(Means::UncorrectedAggregate, "ECC_DBE_AGG_TOTAL", 1.0, COUNTERS),
    renamed(Means::RowsCorrected, ["CORRECTABLE_REMAPPED_ROWS", "ROW_REMAP_CORRECTABLE_TOTAL"], 1.0, FIELDS),
    renamed(
        Means::RowsUncorrected,
        ["UNCORRECTABLE_REMAPPED_ROWS", "ROW_REMAP_UNCORRECTABLE_TOTAL"],
        1.0,
        ENGINES,
    ),
    renamed(Means::RowFailed, ["ROW_REMAP_FAILURE", "ROW_REMAP_FAILED"], 1.0, SIGNALS),
    row(Means::RowPending, "ROW_REMAP_PENDING", 1.0, FIELDS),
    // The value is the number of the last Xid and stays until the next.
    renamed(Means::Xid, ["XID_ERRORS", "XID_ERROR"], 1.0, SIGNALS),
];

/// The row of a series by its whole name.
pub(super) fn of(name: &str) -> Option<&'static Row> {
    let field = name.strip_prefix(PREFIX)?;
    ROWS.iter().find(|row| row.names.contains(&field))
}

/// Whether a value stands for "not told": DCGM marks that with numbers at the end of their type, 2^31, 2^47 and 2^63.
/// Nothing counted here comes near them.
pub(super) fn is_blank(value: f64) -> bool {
    value.is_nan()
        || value < 0.0
        || (2_147_483_632.0..=2_147_483_647.0).contains(&value)
        || (140_737_488_355_328.0..=140_737_488_355_344.0).contains(&value)
        || value >= 9.2e18
}
