"""Reads a page in the Prometheus text format with Prometheus' own parser, and prints its samples as JSON."""
import json
import sys

from prometheus_client.parser import text_string_to_metric_families

families = list(text_string_to_metric_families(sys.stdin.read()))
samples = [
    {"name": sample.name, "labels": sample.labels, "value": sample.value}
    for family in families
    for sample in family.samples
]
types = {family.name: family.type for family in families}
print(json.dumps({"samples": samples, "types": types}))
