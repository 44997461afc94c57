"""The page of refusals: each rule that the sources name, the sentence of its cause, and an example from the tests."""
import os
import re

_STRING = r'"(?:[^"\\]|\\.)*"'
# A call that refuses: its rule, then the format of its sentence in one or more strings.
_C_CALL = re.compile(rf'"([a-z0-9_]+(?:\.[a-z0-9_-]+)+)",\s*({_STRING}(?:\s*(?:PRI\w+)?\s*{_STRING})*)', re.S)
_PYTHON_CALL = re.compile(rf'invalid\(\s*f?"([a-z0-9_-]+\.[a-z0-9_-]+)",\s*((?:f?{_STRING}\s*)+)', re.S)
_EXAMPLE = re.compile(r"(?:error|warning)\[([a-z0-9_.-]+)\]:? (.*)")
_LETTERS = re.compile(r"%[-+ #0-9.*]*(?:hh|h|ll|l|z|t|j)?[a-zA-Z]")


def _files(root, folders, suffixes):
    for folder in folders:
        for place, _, names in os.walk(os.path.join(root, folder)):
            for name in sorted(names):
                if name.endswith(suffixes):
                    yield os.path.join(place, name)


def _sentence(literals):
    """The text of a format: its strings joined, each conversion an ellipsis."""
    text = "".join(re.findall(r'"((?:[^"\\]|\\.)*)"', literals)).replace('\\"', '"').replace("\\n", " ")
    text = re.sub(r"\{[^{}]*\}", "…", _LETTERS.sub("…", text).replace("%%", "%"))
    return re.sub(r"\s+", " ", text).strip()


def find_rules(root):
    """{rule: [sentences]} of the sources."""
    rules = {}
    for suffixes, call, folders in (((".c", ".h"), _C_CALL, ("lib", "tools")), ((".py",), _PYTHON_CALL, ("bindings/python",))):
        for path in _files(root, folders, suffixes):
            with open(path, encoding="utf-8") as stream:
                for rule, literals in call.findall(stream.read()):
                    sentence = _sentence(literals)
                    if " " in sentence and sentence not in rules.setdefault(rule, []):
                        rules[rule].append(sentence)
    return {rule: found for rule, found in rules.items() if found}


def find_examples(root):
    """{rule: the shortest whole sentence that a test expects}."""
    examples = {}
    for path in _files(root, ("test",), (".test",)):
        with open(path, encoding="utf-8", errors="replace") as stream:
            for rule, text in _EXAMPLE.findall(stream.read()):
                text = text.strip()
                if "{{" not in text and "[[" not in text and len(text) > 20 and len(text) < len(examples.get(rule, "x" * 400)):
                    examples[rule] = text
    return examples


def page(root):
    """(markdown, number of rules)."""
    rules, examples = find_rules(root), find_examples(root)
    lines = ["# Refusals", "", "Each refusal has the form `FILE:LINE:COL: error[RULE]: fact; legal: values; nearest: value`. This page is "
             "made from the sources: the rules, the sentences of their causes (… stands for a value), and an example where a test "
             "has a whole one.", ""]
    group = None
    for rule in sorted(rules):
        if rule.split(".")[0] != group:
            group = rule.split(".")[0]
            lines += [f"## {group}", ""]
        lines += [f"**{rule}**", ""] + [f"- `{sentence.replace('`', chr(39))}`" for sentence in rules[rule]]
        if rule in examples:
            lines += ["", f"  Example: `{examples[rule].replace('`', chr(39))}`"]
        lines.append("")
    return "\n".join(lines), len(rules)


if __name__ == "__main__":
    text, n_rules = page(os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__)))))
    print(text + f"\n{n_rules} rules")
