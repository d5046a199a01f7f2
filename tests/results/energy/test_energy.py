"""Energy measured with a fake powercap folder and a fake NVML."""

from __future__ import annotations

import json
import sys
import threading
from types import SimpleNamespace

import pytest

import evener as ev
from evener.results.energy import counters
from evener.results.energy import meter as energy
from evener.results.energy.meter import Energy, Meter
from evener.results.report.explain import energy_sentence

RANGE = 262_143_328_850  # microjoules, as on an Intel server


class Rapl:
    """A powercap folder whose counters increase while a meter watches them."""

    def __init__(self, folder):
        self.folder = folder
        self.moves = True

    def zone(self, name, kind, microjoules=1000, limit=RANGE):
        zone = self.folder / name
        zone.mkdir(parents=True)
        for file, content in (("name", kind), ("energy_uj", microjoules), ("max_energy_range_uj", limit)):
            (zone / file).write_text(f"{content}\n")
        return zone / "energy_uj"

    def tick(self):
        if self.moves:
            for file in self.folder.glob("*/energy_uj"):
                add(file, 61)


class NVMLError(Exception):
    pass


class NotSupportedError(NVMLError):
    pass


class Nvml(SimpleNamespace):
    """A fake NVML. If `millijoules` or `milliwatts` is an error, the library raises it."""

    NVMLError = NVMLError
    NVMLError_NotSupported = NotSupportedError

    def __init__(self):
        super().__init__(millijoules=5_000_000, milliwatts=90_000, divided=0, users=0, moves=True, asked=[])

    def tick(self):
        if self.moves:
            for name in ("millijoules", "milliwatts"):
                if isinstance(getattr(self, name), int):
                    setattr(self, name, getattr(self, name) + 7)

    def nvmlInit(self):  # noqa: N802 - names of NVML
        self.users += 1

    def nvmlShutdown(self):  # noqa: N802
        self.users -= 1

    def nvmlDeviceGetHandleByPciBusId(self, bus):  # noqa: N802
        self.asked.append(bus)
        return "gpu"

    def nvmlDeviceGetMigMode(self, _):  # noqa: N802
        return (
            value_of([self.divided, 0]) if not isinstance(self.divided, Exception) else value_of(self.divided)
        )

    def nvmlDeviceGetTotalEnergyConsumption(self, _):  # noqa: N802
        return value_of(self.millijoules)

    def nvmlDeviceGetPowerUsage(self, _):  # noqa: N802
        return value_of(self.milliwatts)


def value_of(value):
    if isinstance(value, Exception):
        raise value
    return value


@pytest.fixture(autouse=True)
def machine(tmp_path, monkeypatch):
    """Replace the counters of the machine. The fake counters increase after each reading."""
    made = SimpleNamespace(rapl=Rapl(tmp_path / "powercap"), nvml=Nvml())
    real_sleep, real_read, readings = energy.sleep, energy._CounterState.read, threading.Semaphore(0)

    def sleep(seconds):
        made.rapl.tick()
        made.nvml.tick()
        real_sleep(seconds)

    def read(gauge):
        real_read(gauge)
        readings.release()

    def rest():
        """Wait 0.1 s, and until the reading thread has read each of three counters at least once."""
        real_sleep(0.1)
        while readings.acquire(blocking=False):
            pass
        for _ in range(6):
            assert readings.acquire(timeout=60)

    monkeypatch.setattr(counters, "_POWERCAP", made.rapl.folder)
    monkeypatch.setattr(energy, "sleep", sleep)
    monkeypatch.setattr(energy, "_MIN_STEPS", 0)  # runs of any length
    monkeypatch.setattr(counters, "_bus_id", lambda index: f"0000:{index:02x}:00.0")
    monkeypatch.setitem(sys.modules, "pynvml", made.nvml)
    monkeypatch.setattr(energy, "_MAX_WATCH_SECONDS", 60)
    monkeypatch.setattr(energy, "BETWEEN_READINGS", 0.005)
    monkeypatch.setattr(energy._CounterState, "read", read)
    made.rest = rest
    yield made
    assert made.nvml.users == 0, "every nvmlInit has its nvmlShutdown"


@pytest.fixture
def clock(monkeypatch):
    """A clock that a test advances: ``clock.now += 1``."""
    made = SimpleNamespace(now=100.0)
    for module in (energy, counters):
        monkeypatch.setattr(module, "perf_counter", lambda: made.now)
    return made


def add(file, microjoules, limit=RANGE):
    """Increase a counter atomically."""
    new = file.with_suffix(".new")
    new.write_text(f"{(int(file.read_text()) + microjoules) % limit}\n")
    new.replace(file)


class TestHost:
    def test_packages_are_summed(self, machine):
        first = machine.rapl.zone("intel-rapl:0", "package-0")
        second = machine.rapl.zone("intel-rapl:1", "package-1")
        with Meter() as meter:
            add(first, 2_500_000)
            add(second, 1_000_000)
            machine.rest()
        assert meter.joules == {"host": 3.5}
        assert meter.reasons == {}
        assert meter.energy.seconds >= 0.1

    def test_zones_inside_and_around_packages_are_not_counted(self, machine):
        package = machine.rapl.zone("intel-rapl:0", "package-0")
        others = [
            machine.rapl.zone("intel-rapl:0:0", "core"),
            machine.rapl.zone("intel-rapl:0:1", "dram"),
            machine.rapl.zone("intel-rapl:1", "psys"),
            machine.rapl.zone("intel-rapl-mmio:0", "package-0"),
        ]
        with Meter() as meter:
            for file in [package, *others]:
                add(file, 1_000_000)
            machine.rest()
        assert meter.joules == {"host": 1.0}

    def test_counters_wrap(self, machine):
        limit = 10_000_000
        file = machine.rapl.zone("intel-rapl:0", "package-0", limit - 2_000_000, limit)
        with Meter() as meter:
            add(file, 3_000_000, limit)
            machine.rest()
        assert int(file.read_text()) < 2_000_000
        assert meter.joules == {"host": 3.0}

    def test_counters_may_wrap_several_times(self, machine):
        limit = 10_000_000
        file = machine.rapl.zone("intel-rapl:0", "package-0", 0, limit)
        with Meter() as meter:
            for _ in range(3):
                add(file, 6_000_000, limit)
                machine.rest()
        assert meter.joules == {"host": 18.0}

    def test_energy_before_begin_is_not_counted(self, machine):
        file = machine.rapl.zone("intel-rapl:0", "package-0")
        with Meter() as meter:
            add(file, 7_000_000)
            meter.begin()
            add(file, 2_000_000)
        assert meter.joules == {"host": 2.0}

    def test_no_counter(self):
        with Meter() as meter:
            pass
        assert meter.joules == {"host": None}
        assert meter.reasons == {"host": "the machine has no RAPL counter"}

    def test_a_counter_that_only_root_can_read(self, machine, monkeypatch):
        file = machine.rapl.zone("intel-rapl:0", "package-0")
        read = type(file).read_text

        def read_text(path, *args, **kwargs):
            if path.name == "energy_uj":
                raise PermissionError(13, "Permission denied", str(path))
            return read(path, *args, **kwargs)

        monkeypatch.setattr(type(file), "read_text", read_text)
        with Meter() as meter:
            pass
        assert meter.joules == {"host": None}
        assert meter.reasons["host"] == f"{file} is not readable by this user; ask root to make it readable"

    def test_a_counter_that_does_not_change(self, machine, monkeypatch):
        monkeypatch.setattr(energy, "_MAX_WATCH_SECONDS", 0.02)
        file = machine.rapl.zone("intel-rapl:0", "package-0")
        machine.rapl.moves = False
        with Meter() as meter:
            machine.rest()
        assert meter.reasons == {"host": "its counter did not change within 20 ms"}
        machine.rapl.tick = lambda: file.write_text("1061\n")  # a single step does not show the interval
        with Meter() as meter:
            machine.rest()
        assert meter.reasons == {"host": "its counter did not change within 20 ms"}

    def test_a_counter_that_is_not_a_number(self, machine):
        machine.rapl.zone("intel-rapl:0", "package-0", "many")
        machine.rapl.moves = False
        with Meter() as meter:
            pass
        assert "its RAPL counter cannot be read" in meter.reasons["host"]

    def test_a_counter_that_disappears(self, machine):
        file = machine.rapl.zone("intel-rapl:0", "package-0")
        with Meter() as meter:
            file.unlink()
            machine.rest()
        assert meter.joules == {"host": None}
        assert "its counter failed during the run" in meter.reasons["host"]


class TestShortRuns:
    def test_a_run_needs_ten_counter_updates(self, machine, monkeypatch, clock):
        monkeypatch.setattr(energy, "_MIN_STEPS", 10)
        file, step = machine.rapl.zone("intel-rapl:0", "package-0"), 1 / 64

        def sleep(_):
            machine.rapl.tick()
            clock.now += step

        monkeypatch.setattr(energy, "sleep", sleep)
        with Meter() as meter:
            add(file, 1_000_000)
            clock.now += 9 * step
        assert meter.joules == {"host": None}
        assert "too short for a counter that updates every 15.6 ms" in meter.reasons["host"]
        with Meter() as meter:
            add(file, 1_000_000)
            clock.now += 10 * step
        assert meter.joules == {"host": 1.0}

    def test_a_power_reading_updates_only_at_its_interval(self, machine, monkeypatch):
        monkeypatch.setattr(energy, "_MIN_STEPS", 10)
        monkeypatch.setattr(counters._GpuPower, "min_step", 5.0)
        machine.nvml.millijoules = NotSupportedError("Not Supported")
        with Meter(["cuda:0"]) as meter:
            machine.rest()
        assert meter.joules["cuda:0"] is None
        assert meter.reasons["cuda:0"].endswith(
            "too short for a counter that updates every 5 s; use a run of at least 50 s"
        )


class TestGpus:
    def test_the_energy_counter(self, machine):
        with Meter(["cuda:0"]) as meter:
            machine.nvml.moves = False
            machine.nvml.millijoules += 12_500
            machine.rest()
        assert meter.joules == {"host": None, "cuda:0": 12.5}
        assert machine.nvml.asked == ["0000:00:00.0"]

    def test_each_gpu_is_counted_once(self, machine):
        elements = [
            "cpu:2",
            "cuda:1#0",
            "cuda:1#1",
            SimpleNamespace(name="cuda:0"),
            SimpleNamespace(name="late:3"),
        ]
        with Meter(elements) as meter:
            machine.nvml.moves = False
            machine.rest()
        assert list(meter.joules) == ["host", "cuda:0", "cuda:1"]
        assert machine.nvml.asked == ["0000:00:00.0", "0000:01:00.0"]

    def test_power_replaces_a_missing_energy_counter(self, machine, clock):
        machine.nvml.millijoules = NotSupportedError("Not Supported")
        machine.nvml.milliwatts = 80_000
        with Meter(["cuda:0"]) as meter:
            machine.nvml.moves = False
            clock.now += 3
        assert meter.joules["cuda:0"] == pytest.approx(80 * 3, rel=0.001)

    def test_power_is_integrated_between_readings(self, machine, clock):
        """The power increases from 60 W to 80 W in one second, and stays at 80 W for two seconds."""
        machine.nvml.nvmlInit()
        machine.nvml.milliwatts = 60_000
        counter = counters._GpuPower(machine.nvml, "gpu")
        machine.nvml.milliwatts = 80_000
        clock.now += 1
        assert counter.joules() == 70
        clock.now += 2
        assert counter.joules() == 70 + 2 * 80
        counter.close()

    @pytest.mark.parametrize(
        ("broken", "reason"),
        [
            ({"divided": 1}, "the GPU is divided into MIG instances, which have no counter of their own"),
            ({"millijoules": NVMLError("GPU is lost")}, "NVML cannot read the GPU (GPU is lost)"),
            (
                {"millijoules": NotSupportedError("no"), "milliwatts": NotSupportedError("no")},
                "the GPU reports neither its energy nor its power",
            ),
        ],
        ids=["divided", "lost", "unsupported"],
    )
    def test_reasons_for_missing_energy(self, machine, broken, reason):
        vars(machine.nvml).update(broken)
        with Meter(["cuda:0"]) as meter:
            pass
        assert meter.joules["cuda:0"] is None
        assert meter.reasons["cuda:0"] == reason

    def test_gpus_without_mig(self, machine):
        machine.nvml.divided = NotSupportedError("Not Supported")
        with Meter(["cuda:0"]) as meter:
            machine.nvml.moves = False
            machine.nvml.millijoules += 1000
        assert meter.joules["cuda:0"] == pytest.approx(1)

    def test_nvml_fails_during_the_run(self, machine):
        with Meter(["cuda:0"]) as meter:
            machine.nvml.millijoules = NVMLError("GPU is lost")
            machine.rest()
        assert meter.joules["cuda:0"] is None
        assert meter.reasons["cuda:0"] == "its counter failed during the run (GPU is lost)"

    def test_nvml_fails_before_the_run(self, machine):
        machine.rapl.zone("intel-rapl:0", "package-0")
        machine.nvml.tick = lambda: setattr(machine.nvml, "millijoules", NVMLError("GPU is lost"))
        with Meter(["cuda:0"]) as meter:
            machine.rest()
        assert meter.joules["host"] is not None
        assert meter.joules["cuda:0"] is None
        assert meter.reasons["cuda:0"] == "its counter cannot be read (GPU is lost)"

    def test_the_first_error_is_reported(self, machine):
        """After the first error, NVML is shut down and raises other errors."""
        machine.rapl.zone("intel-rapl:0", "package-0")
        errors = iter(["GPU is lost", *["Uninitialized"] * 1000])
        machine.nvml.tick = lambda: setattr(machine.nvml, "millijoules", NVMLError(next(errors)))
        with Meter(["cuda:0"]) as meter:
            machine.rest()
        assert meter.joules["host"] is not None
        assert meter.reasons["cuda:0"] == "its counter cannot be read (GPU is lost)"

    def test_a_failed_counter_is_not_waited_for(self, machine, monkeypatch):
        monkeypatch.setattr(energy, "_MAX_WATCH_SECONDS", 60)
        machine.nvml.tick = lambda: setattr(machine.nvml, "millijoules", NVMLError("GPU is lost"))
        began = energy.perf_counter()
        with Meter(["cuda:0"]):
            assert energy.perf_counter() - began < 30

    def test_a_missing_package_or_driver(self, machine, monkeypatch):
        def nvml_init():
            raise NVMLError("NVML Shared Library Not Found")

        machine.nvml.nvmlInit = nvml_init
        with Meter(["cuda:0"]) as meter:
            pass
        assert meter.reasons["cuda:0"] == "NVML cannot be used (NVML Shared Library Not Found)"
        monkeypatch.setitem(sys.modules, "pynvml", None)
        with Meter(["cuda:0"]) as meter:
            pass
        assert meter.reasons["cuda:0"].endswith("pip install nvidia-ml-py")

    def test_an_invalid_element_name(self):
        with pytest.raises(ev.ArgumentError, match=r"elements: expected names .*, found 'gpu:0'"):
            Meter(["cpu", "gpu:0"])


class TestMeter:
    def test_a_meter_can_be_reused_after_an_error(self, machine):
        file = machine.rapl.zone("intel-rapl:0", "package-0")
        meter = Meter()
        with pytest.raises(ZeroDivisionError), meter:
            1 / 0  # noqa: B018 - raises the error
        with meter:
            add(file, 4_000_000)
            machine.rest()
        assert meter.joules == {"host": 4.0}

    def test_a_reused_meter_counts_wraps(self, machine):
        limit = 10_000_000
        file = machine.rapl.zone("intel-rapl:0", "package-0", 0, limit)
        meter = Meter()
        for _ in range(2):
            with meter:
                for _ in range(3):
                    add(file, 6_000_000, limit)
                    machine.rest()
            assert meter.joules == {"host": 18.0}

    def test_the_reading_thread_ends_with_the_meter(self):
        with Meter() as meter:
            assert "evener-energy" in {thread.name for thread in threading.enumerate()}
        assert meter.energy.total is None
        assert "evener-energy" not in {thread.name for thread in threading.enumerate()}


class TestText:
    def test_totals_and_parts(self):
        one = Energy({"host": 20.0, "cuda:0": 30.0, "cuda:1": None}, {"cuda:1": "why"}, seconds=2.0)
        assert one.total == 50.0
        assert one.measured == ("host", "cuda:0")
        part = one.of(["cpu:1", "cuda:1"])
        assert (part.joules, part.reasons, part.seconds) == (
            {"host": 20.0, "cuda:1": None},
            {"cuda:1": "why"},
            2.0,
        )
        assert one.of(["cpu:1", "cuda:0"]).reasons == {}
        assert Energy({}).total is None

    @pytest.mark.parametrize(
        ("joules", "reasons", "expected"),
        [
            ({"host": 50.0}, {}, "Energy: 50 J, 20 M edges/s per watt."),
            (
                {"host": None, "cuda:0": 500.0},
                {"host": "no counter"},
                "Energy: 500 J, 2 M edges/s per watt (only cuda:0; host is not measured: no counter).",
            ),
            ({"host": None}, {"host": "why"}, "Energy: host is not measured: why."),
        ],
    )
    def test_the_sentence(self, joules, reasons, expected):
        energy = Energy(joules, reasons, 1.0)
        assert energy_sentence(energy, energy.total and 1_000_000_000 / energy.total) == expected


class Counting:
    """A counter that increases by five joules per reading."""

    min_step = 0.0

    def __init__(self):
        self.shown = self.total = 0

    def raw(self):
        self.shown += 1
        return self.shown

    def joules(self):
        self.total += 5
        return self.total

    def close(self):
        pass


class TestCommandLine:
    def test_energy_option_measures_a_run(self, evener, monkeypatch, tmp_path):
        monkeypatch.setattr(energy, "Rapl", Counting)
        page = tmp_path / "run.html"
        words = ("run", "pagerank", "rmat:8", "--tol", 0, "--max-iter", 50, "--on", "cpu:1,cpu:1")
        content = json.loads(evener(*words, "--energy", "--report", page, "--json").out)
        measured = content["energy"]
        assert measured["joules"]["host"] > 0
        assert measured["joules"]["host"] % 5 == 0
        watts = measured["joules"]["host"] / measured["seconds"]
        assert measured["edges_per_joule"] == pytest.approx(content["edges_per_second"] / watts)
        assert "<h2>Energy</h2>" in page.read_text()
        assert "per watt." in evener(*words, "--energy").out

    def test_energy_option_without_counters(self, evener):
        done = evener("run", "wcc", "grid:3x3", "--energy")
        assert done.status == 0
        assert "Energy: host is not measured: the machine has no RAPL counter." in done.out

    def test_no_measurement_without_the_option(self, evener, monkeypatch):
        monkeypatch.setattr(energy.Meter, "__enter__", lambda _: pytest.fail("energy is measured"))
        done = evener("run", "wcc", "grid:3x3")
        assert done.status == 0
        assert "nergy" not in done.out

    def test_an_invalid_element_with_the_option(self, evener):
        done = evener("run", "wcc", "grid:3x3", "--energy", "--on", "gpu:0")
        assert done.status == 2
        assert "'gpu:0' is not an element; this machine has" in done.err
