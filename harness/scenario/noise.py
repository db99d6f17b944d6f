"""Check what a scenario asks of the noise of its source."""

from __future__ import annotations

from collections.abc import Iterator

from harness.core.protocols import Source, SupportsNoiseLaw, SupportsNoiseSd
from harness.scenario.errors import Complaint
from harness.scenario.spec import Scenario


def knows_noise_law(source: Source) -> bool:
    """Return whether a source knows f and the distribution of its noise, so that coverage has an expectation."""
    return source.knows_f and isinstance(source, SupportsNoiseLaw)


def knows_noise_sd(source: Source) -> bool:
    """Return whether a source knows the standard deviation of its noise."""
    return isinstance(source, SupportsNoiseSd) and source.noise_sd is not None


def check_noise(scenario: Scenario, source: Source) -> Iterator[Complaint]:
    """Yield complaints about expected coverage, and about a known σ, that a source can't give."""
    if scenario.expected_coverage and not knows_noise_law(source):
        text = "must be left out or false: this source doesn't know f and the distribution of its noise (noise_cdf)"
        yield Complaint("expected_coverage", text)
    if scenario.sigma == "known":
        if not knows_noise_sd(source):
            text = "this source doesn't know the standard deviation of its noise, or it differs between points"
            yield Complaint("sigma", f'must be left out or "estimated": {text} (noise_sd)')
        for i, gamma in enumerate(scenario.grid.gamma):
            if gamma == 0:
                yield Complaint(f"grid.gamma[{i}]", 'must be > 0 where sigma = "known", got 0.0')
