"""What `%agent?`, `%%agent?` and `%agent help` say."""

from tt_kernel.ipython.arguments import usage_lines

_HEAD = """Run an agent with tools.

A cell, whose body is the prompt:

  %%agent [PROFILE] [OPTIONS]
  Summarise penguins.csv in one sentence and save a histogram of body mass.

A line, for a short prompt or a command:

  %agent [OPTIONS] What is the heaviest species?
  %agent runs

The value is the Run, also in _ and in the variable of -o: .text .status .messages .tool_calls .images .files .usage .id
.folder .to_df(). What the run did is kept in a folder beside the notebook; the same cell again is answered from there.

Options:
"""

_TAIL = """
In the prompt, @{expression} is replaced by its value: text as itself, a DataFrame by its columns and first rows, a figure
or image as an attached image, a Run by its text, a pathlib.Path by the file. @@{ is a plain @{. Nothing else is touched.

Commands:
  %agent tools [PROFILE]    the tools that a run would have, and what each costs
  %agent prompt [PROFILE]   exactly what a model would get
  %agent profiles           the profiles, and where each comes from
  %agent profile ACTION     list show new edit set diff diagnose import export repair
  %agent runs               the runs of this notebook, the newest first
  %agent show [RUN]         a stored run; the last one if none is named
  %agent fix RUN TEXT       another answer of a run, with its tools, files and conversation
  %agent resume RUN [TEXT]  go on with a run that was stopped
  %agent guide TEXT         say something to the run in progress, before its next turn
  %agent rewind RUN         put back the project files that a run changed (--keep or --overwrite what changed since)
  %agent rollback RUN POINT put a run's workspace back to a checkpoint
  %agent session ACTION     list show: conversations that go on over cells and restarts
  %agent worldinfo ACTION   list show import activate: the lorebooks of this notebook
  %agent approve [RUN]      carry out the plan of a run with --plan
  %agent permissions ACTION list allow ask deny remove safety: what agents may do here
  %agent roots ACTION       list add remove: folders that agents may use besides the notebook's own
  %agent connections ACTION list add remove: services, and where their keys are
  %agent diff A B           two runs held against each other
  %agent why [RUN]          why a run was not replayed: the first difference from the nearest recording
  %agent branch RUN ...     another run from a turn on: --turn N and --prompt --message --result CALL=TEXT --set -m
  %agent tree               which runs come from which
  %agent find WORDS         runs by words, and tool: model: profile: status: since: until: in:
  %agent costs [BY]         what the runs used, by model, day, profile, cell or status
  %agent prune [RUN] [--yes] what the folder could do without (or these runs): old runs, what nothing refers to; --yes deletes
  %agent replay [RUN]       run it again, strictly from its record
  %agent verify             the saved notebook from its record alone, in a kernel of its own: is every run identical?
  %agent budget [AMOUNT]    what all runs of the notebook may cost: 2.50 USD, 100000 tokens, off
  %agent check              what stands in the way of nbval
  %agent freeze             write a manifest of versions and digests
  %agent export [FILE]      the saved notebook as a script that runs its agent cells, and replays
  %agent doctor             what works on this machine, and what to do about the rest
  %agent notebook [PATH]    which notebook this is, or say so
  %agent help               this text
  %agent -- TEXT            a prompt that begins with one of these words

Examples:
  %%agent -m openai:gpt-5 -t my_function -o result
  %%agent writer --temperature 0 --seed 1 --max-tokens 500
  %%agent --continue
  %%agent --set limits.turns=5 --replay
  %%agent --vary model=openai:gpt-5,local:smollm2 --repeat 5 --check "'kg' in text" -o sweep
  %agent permissions allow Bash --pattern "command=pytest*"
"""


def help_text() -> str:
    return _HEAD + "\n".join(usage_lines()) + "\n" + _TAIL
