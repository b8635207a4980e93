"""The command that looks for memories that say the same or contradict each other."""

from __future__ import annotations

import click

from memory_pipeline.cli.memory_commands import memory
from memory_pipeline.cli.place import EXIT_DONE, JSON_OPTION, Place, open_app


@memory.command("distill")
@click.option("--scope", help="Only this scope: user, or project:KEY.")
@JSON_OPTION
@click.pass_obj
def memory_distill(place: Place, *, scope: str | None, as_json: bool) -> int:
    """Find memories that say the same, and such that contradict, and propose which stays. Changes no memory.

    What is proposed are drafts: approved, the next run carries them out; rejected, they do not come back.
    """
    from memory_pipeline.cli import output
    from memory_pipeline.visible import visible

    with open_app(place.load()) as app:
        found = app.distill(scope=scope)
        named = {name for merge in found.merges for name in (merge.keeps, *merge.gives_way)}
        memories = {one.memory_id: one for one in app.store.memories.every() if one.memory_id in named}
        waiting = app.store.drafts.count_queue()
    if as_json:
        output.print_json(
            {
                "looked_at": found.looked_at,
                "proposed": found.proposed,
                "proposals": [
                    {
                        "entry_id": merge.merge_id,
                        "label": merge.label,
                        "keeps": merge.keeps,
                        "gives_way": list(merge.gives_way),
                    }
                    for merge in found.merges
                ],
            }
        )
        return EXIT_DONE
    for merge in found.merges:
        click.echo(f"{merge.merge_id}  {merge.label}")
        for mark, name in (("+", merge.keeps), *(("-", name) for name in merge.gives_way)):
            one = memories.get(name)
            click.echo(f"  {mark} {name}  {visible(one.statement) if one is not None else ''}")
    click.echo(f"memories looked at: {found.looked_at}, proposals: {len(found.merges)}, new: {found.proposed}")
    if waiting and found.merges:
        click.echo(output.drafts_wait(waiting, place.command))
    return EXIT_DONE
