"""PageRank by GraphX in local mode, for g16_fig9.py. It needs pyspark and Java, and nothing of Evener.

GraphX has no Python interface, so its Java methods are called through the gateway of pyspark. The first run
does not count. Prints the seconds of each run as JSON, and writes the ranks as lines "(id,rank)".

    python graphx.py EDGES RANKS ITERATIONS THREADS ROUNDS
"""

from __future__ import annotations

import json
import sys
import time

DAMPING = 0.85


def main(edges, ranks, iterations, threads, rounds):
    from pyspark.sql import SparkSession

    builder = SparkSession.builder.master(f"local[{threads}]").appName("graphx")
    spark = builder.config("spark.driver.memory", "6g").config("spark.ui.enabled", "false").getOrCreate()
    context = spark.sparkContext
    context.setLogLevel("ERROR")
    java = context._jvm  # noqa: SLF001 - the only way to GraphX
    graphx, level = java.org.apache.spark.graphx, java.org.apache.spark.storage.StorageLevel.MEMORY_ONLY()
    # Twice as many partitions as threads, so that no thread waits long for the others.
    graph = graphx.GraphLoader.edgeListFile(context._jsc.sc(), edges, False, 2 * threads, level, level)  # noqa: FBT003, SLF001
    graph.vertices().count()
    graph.edges().count()
    kind = java.scala.reflect.ClassTag.apply(java.java.lang.Object().getClass())
    seconds = []
    for turn in range(-1, rounds):
        start = time.perf_counter()
        found = graphx.lib.PageRank.run(graph, iterations, 1 - DAMPING, kind, kind)
        found.vertices().count()
        if turn >= 0:
            seconds.append(time.perf_counter() - start)
    found.vertices().saveAsTextFile(ranks)
    spark.stop()
    print(json.dumps(seconds))


if __name__ == "__main__":
    main(*sys.argv[1:3], *map(int, sys.argv[3:]))
