"""shipped.py HEDDLE PTXAS CHOICES.json DIR: compiles every shipped choice as a user would. Heddle refuses a kernel
that ptxas repairs (C75xx), spills or gives local memory, so every compilation must succeed."""
import concurrent.futures
import json
import os
import subprocess
import sys

PROBLEM = """module version=1 level=problem sync=none
kernel {{name = "shipped", target = "{target}"{promise}}} {{
  %m: i32 = size {{dim = m, value = {m}}}
  %n: i32 = size {{dim = n, value = {n}}}
  %k: i32 = size {{dim = k, value = {k}}}
  %a: matrix<{a}> = sparse %m, %k {{type = {a}}}
  %b: matrix<{b}> = dense %k, %n {{type = {b}, operand = b, order = {b_order}}}
  %x: matrix<{acc}> = matmul %a, %b {{acc = {acc}}}
  store %x {{type = {d}, order = {d_order}}}
}}
"""


def problem(product):
    words = product.split()
    values = dict(word.split("=") for word in words if "=" in word)
    target, b_order, d_order, *promise = [word for word in words if "=" not in word]
    text = ", dependent, weights_ready" if promise == ["weights_ready"] else ""
    return PROBLEM.format(target=target, b_order=b_order, d_order=d_order, promise=text, **values)


def compiles(heddle, ptxas, folder, number, choice):
    path = os.path.join(folder, f"{number}.heddle")
    with open(path, "w") as file:
        file.write(problem(choice["product"]))
    command = [heddle, "gen", path, "--ptxas", ptxas, "--schedule", choice["schedule"], "-o", path + ".out"]
    run = subprocess.run(command, capture_output=True, text=True)
    if run.returncode == 0 and os.path.exists(os.path.join(path + ".out", "shipped.cubin")):
        return True
    print(choice["product"], choice["schedule"], run.stderr, sep="\n")
    return False


def main():
    heddle, ptxas, path, folder = sys.argv[1:]
    with open(path) as file:
        choices = json.load(file)["choices"]
    os.makedirs(folder, exist_ok=True)
    with concurrent.futures.ThreadPoolExecutor(2) as pool:
        good = list(pool.map(lambda item: compiles(heddle, ptxas, folder, *item), enumerate(choices)))
    print(f"shipped={len(good)} compiled={sum(good)}")
    return 0 if good and all(good) else 1


if __name__ == "__main__":
    sys.exit(main())
