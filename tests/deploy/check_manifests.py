"""Every document of deploy/k8s against the schemas of Kubernetes, where unknown fields are errors too.

  check_manifests.py FOLDER_OF_MANIFESTS FOLDER_OF_PACKAGES

Exit code 77 where the packages are not there or not for this Python.
"""
import copy
import pathlib
import sys

manifests, packages = map(pathlib.Path, sys.argv[1:])
sys.path.insert(0, str(packages))
try:
    import kubernetes_validate
    import yaml
except ImportError as error:
    print(f"skipped: {error}; scripts/setup fetches it")
    sys.exit(77)

# Probes by gRPC are of 1.27; the packages have these.
VERSIONS = ("1.30", "1.37")


def is_valid(document):
    valid = True
    for version in VERSIONS:
        try:
            kubernetes_validate.validate(document, version, strict=True)
        except kubernetes_validate.ValidationError as error:
            print(f"  {version}: {'.'.join(map(str, error.path))}: {error.message[:200]}")
            valid = False
    return valid


documents = []
for path in sorted(manifests.glob("*.yaml")):
    for document in yaml.safe_load_all(path.read_text()):
        print(f"{path.name}: {document['kind']} {document['metadata']['name']}")
        documents.append(document)
failed = [document for document in documents if not is_valid(document)]
assert not failed, "not what Kubernetes takes"
kinds = {document["kind"] for document in documents}
assert {"Deployment", "Job", "NetworkPolicy", "Service"} <= kinds, kinds

print("and what must be found:")
deployment = next(document for document in documents if document["kind"] == "Deployment")
for spoil in (
    lambda container: container.update(redinessProbe=container.pop("readinessProbe")),
    lambda container: container["livenessProbe"]["grpc"].update(port="fifty"),
    lambda container: container.pop("name"),
):
    spoiled = copy.deepcopy(deployment)
    spoil(spoiled["spec"]["template"]["spec"]["containers"][0])
    assert not is_valid(spoiled), "a wrong manifest was taken"
