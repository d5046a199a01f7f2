"""PageRank by GIM-V in PySpark's DataFrames, for figures/s13_fig13.py, which starts this program.

It does not need Evener, so it can run in a separate environment:

    python -m venv spark && spark/bin/pip install pyspark
    spark/bin/python benchmarks/pyspark_gimv.py EDGES.parquet N ITERATIONS CORES RANKS.parquet

EDGES.parquet has the columns source and target. The edges are cached in memory, and divided by source
before the first iteration. Each iteration keeps its vector in memory. Prints the seconds of each iteration
as JSON.
"""

from __future__ import annotations

import json
import sys
import time

from pyspark.sql import SparkSession
from pyspark.sql import functions as f


def main():
    edges_path, n, iterations, cores, ranks_path = sys.argv[1:]
    n, cores = int(n), int(cores)
    spark = (
        SparkSession.builder.master(f"local[{cores}]")
        .config("spark.driver.memory", "12g")
        .config("spark.sql.shuffle.partitions", 4 * cores)
        .config("spark.ui.enabled", "false")
        .getOrCreate()
    )
    spark.sparkContext.setLogLevel("ERROR")
    edges = spark.read.parquet(edges_path).repartition(4 * cores, "source").cache()
    degree = edges.groupBy("source").agg(f.count("*").alias("degree"))
    vertices = spark.range(n).select(f.col("id").cast("int").alias("vertex"))
    vertices = vertices.join(degree, vertices.vertex == degree.source, "left").select("vertex", "degree")
    vertices = vertices.repartition(4 * cores, "vertex").cache()
    vector = vertices.select("vertex", "degree", f.lit(1 / n).alias("value")).localCheckpoint()
    seconds = []
    for _ in range(int(iterations)):
        start = time.perf_counter()
        # combine2, then combine_all by target, then assign.
        messages = edges.join(vector, edges.source == vector.vertex).select(
            "target", (f.col("value") / f.col("degree")).alias("message")
        )
        combined = messages.groupBy("target").agg(f.sum("message").alias("combined"))
        vector = (
            vertices.join(combined, vertices.vertex == combined.target, "left")
            .select(
                "vertex",
                "degree",
                (0.15 / n + 0.85 * f.coalesce("combined", f.lit(0.0))).alias("value"),
            )
            .localCheckpoint()
        )
        seconds.append(time.perf_counter() - start)
    vector.select("vertex", "value").write.mode("overwrite").parquet(ranks_path)
    print(json.dumps({"seconds": seconds, "version": spark.version}))
    spark.stop()


if __name__ == "__main__":
    main()
