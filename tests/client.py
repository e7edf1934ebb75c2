"""Uses the generated client; tests/client starts it with the daemon's URL, a token and the URL of a feed."""

import importlib
import pkgutil
import sys

sys.path.insert(0, ".")

from feedwarden_client import AuthenticatedClient, models
import feedwarden_client.api as api


def operation(name):
    """The module of an operation, whatever its tag."""
    for module in pkgutil.walk_packages(api.__path__, api.__name__ + "."):
        if module.name.rsplit(".", 1)[-1] == name:
            return importlib.import_module(module.name)
    raise SystemExit(f"the client has no operation {name}")


def call(name, status, **arguments):
    answer = operation(name).sync_detailed(client=client, **arguments)
    assert answer.status_code == status, (name, answer.status_code, answer.content)
    return answer.parsed


base, token, feed = sys.argv[1:4]
client = AuthenticatedClient(base_url=base, token=token, timeout=60.0)

modules = [module for module in pkgutil.walk_packages(api.__path__, api.__name__ + ".") if not module.ispkg]
for module in modules:
    importlib.import_module(module.name)

index = call("get_index", 200)
assert index.openapi == "/api/v1/openapi.json", index

body = models.NewSourceBody(url=feed, first_poll=True, title="Example", labels=["news"])
created = call("post_sources", 201, body=body)
source = created.source
assert (source.url, source.title, source.labels) == (feed, "Example", ["news"]), source
again = operation("post_sources").sync_detailed(client=client, body=body)
assert again.status_code == 409, again

listed = call("get_sources", 200)
assert [item.id for item in listed.items] == [source.id], listed
call("post_sources_id_poll", 200, id=source.id, wait=30, force=True)
posts = call("get_posts", 200)
assert sorted(post.title for post in posts.items) == ["First", "Second"], posts

changed = call("patch_sources_id", 200, id=source.id, body=models.SourceChanges(title="Other"))
assert changed.title == "Other", changed
audit = call("get_audit", 200, target="source", target_id=str(source.id))
assert [record.action for record in audit.items] == ["source.edit", "source.poll", "source.add"], audit
edit = audit.items[0]
assert edit.who == "token:generated-client", edit
assert (edit.before["title"], edit.after["title"]) == ("Example", "Other"), edit

call("delete_sources_id", 204, id=source.id)
missing = operation("get_sources_id").sync_detailed(client=client, id=source.id)
assert missing.status_code == 404, missing
print(f"the generated client works: {len(modules)} operations")
