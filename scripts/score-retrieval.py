#!/usr/bin/env python3
"""Scores runs of `scripts/eval retrieval`.

usage: scripts/score-retrieval.py FOLDER_OF_SETS FOLDER_OF_RUNS

Means over the queries of a set that have relevant memories: recall@k is the share of a query's
relevant memories among the first k, MRR@10 is 1 / rank of the first one, nDCG@10 has binary gains.
The mean counts each set once. Of queries that nothing answers it says how many were left
unanswered. Standard library only.
"""
import json
import math
import os
import sys

if {"-h", "--help"} & set(sys.argv[1:]):
    print(__doc__.strip())
    sys.exit()

COLUMNS = ["recall@1", "recall@5", "recall@10", "MRR@10", "nDCG@10"]


def rows(path):
    with open(path, encoding="utf-8") as lines:
        return [json.loads(line) for line in lines if line.strip()]


def score(relevant, ids):
    relevant = set(relevant)
    ranks = [rank for rank, one in enumerate(ids[:10], 1) if one in relevant]
    recalls = [sum(rank <= k for rank in ranks) / len(relevant) for k in (1, 5, 10)]
    best = sum(1 / math.log2(rank + 1) for rank in range(1, min(10, len(relevant)) + 1))
    gain = sum(1 / math.log2(rank + 1) for rank in ranks)
    return recalls + [1 / ranks[0] if ranks else 0.0, gain / best]


def main():
    if len(sys.argv) != 3:
        sys.exit(__doc__)
    sets, runs = sys.argv[1:]
    print("%-20s %8s " % ("set", "queries") + " ".join("%9s" % name for name in COLUMNS))
    means = []
    for name in sorted(file[:-6] for file in os.listdir(runs) if file.endswith(".jsonl")):
        run = {row["query"]: row["ids"] for row in rows(os.path.join(runs, name + ".jsonl"))}
        queries = rows(os.path.join(sets, name, "queries.jsonl"))
        scores = [score(q["relevant"], run.get(q["id"], [])) for q in queries if q["relevant"]]
        silent = [not run.get(q["id"]) for q in queries if not q["relevant"]]
        mean = [sum(column) / len(scores) for column in zip(*scores)]
        means.append(mean)
        note = "   silent on %d of %d that nothing answers" % (sum(silent), len(silent)) if silent else ""
        print("%-20s %8d " % (name, len(scores)) + " ".join("%9.4f" % value for value in mean) + note)
    over = [sum(column) / len(means) for column in zip(*means)]
    print("%-20s %8s " % ("mean", "") + " ".join("%9.4f" % value for value in over))


if __name__ == "__main__":
    main()
