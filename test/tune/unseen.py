"""unseen.py FILE [TYPE...]: prints h200_unseen.txt as lines of `heddle bench --format csv`; optionally some types."""
import sys

wanted = sys.argv[2:]
product = None
print("type,m,k,n,us,verdict,contender,d_type")
for line in open(sys.argv[1]):
    words = line.split()
    if line.startswith("#"):
        continue
    if len(words) == 4:
        product = words
    elif not wanted or product[0] in wanted:
        tile, warps, stages, cluster, split, reduce, pending, us = words
        print(f'{",".join(product)},{us},ok,"heddle row tile={tile} warps={warps}x1 stages={stages} '
              f'cluster={cluster} split_k={split} reduce={reduce} wgmma_in_flight={pending} raster_group=8 a=desc '
              f'k_order=forward ctas_per_sm=1 multicast=b",{ {"tf32": "f32", "f16": "f16"}.get(product[0], "bf16") }')
