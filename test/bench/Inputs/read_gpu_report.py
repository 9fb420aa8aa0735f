"""Checks what a report must contain on any GPU.  usage: read_gpu_report.py JSON"""
import json
import sys

report = json.load(open(sys.argv[1]))
assert report["device"]["sms"] > 0 and report["device"]["clock_mhz"] > 0, report["device"]
good = [row for row in report["rows"] if row["name"] == "good"]
floors = [row for row in report["rows"] if row["status"] == "floor"]
assert len(good) == 2 and len(floors) == 2
for row, floor in zip(good, floors):
    assert row["status"].startswith("right"), row
    assert floor["latency_us"] < row["latency_us"] < 1000, (floor, row)
    assert row["least_us"] <= row["latency_us"] <= row["most_us"], row
    assert row["launches"] == 15 and row["sustained_us"] > 0, row
    assert abs(row["floor_share"] - row["floor_us"] / row["latency_us"]) < 1e-6, row
    flop = 2 * row["m"] * row["n"] * row["k"]
    assert abs(row["tflops"] * row["latency_us"] * 1e6 / flop - 1) < 1e-6, row
print("good is right twice, faster than the CPU device and slower than the floor")
