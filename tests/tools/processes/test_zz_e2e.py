import dataclasses, sys, time
from pathlib import Path
import tt_kernel.session.toolbox as tb, tt_kernel.session.policies as po
from tt_kernel.tools.processes import *
from tt_kernel.store.workspace import Root
from tt_kernel.runtime.loop_thread import submit
sys.path.insert(0, str(Path(__file__).parents[2]/"session"))
import support as ss

def wire(monkeypatch, folder):
    table = ProcessTable(); desks=[]
    monkeypatch.setattr(tb, "BUILTIN", (*tb.BUILTIN, *PROCESS_TOOLS))
    old = tb.Toolbox.bind
    def bind(self, bench, f, r):
        b = old(self, bench, f, r)
        desk = ProcessDesk(table=table, roots=lambda: [Root("workspace", folder, writable=True, life="project", prefix="", follow_links=True)], clock=bench.clock, call_name=bench.snapshot.call_name)
        desks.append(desk)
        return dataclasses.replace(b, tools=[*b.tools, *process_tools(desk)])
    monkeypatch.setattr(tb.Toolbox, "bind", bind)
    oldc = po.Policies.caller
    monkeypatch.setattr(po.Policies, "caller", lambda self, t, s: self._scrubbed(keeps_output(desks[-1])(oldc(self, t, s))))
    return table

SCRIPT = """
script: 1
turns:
  - say: Let me look.
    call: Bash
    with: {command: "echo ran >> ran.txt; echo hello; sleep 0.5; echo there", yield_time_ms: 250}
  - say: done
"""
def test_e2e(tmp_path, monkeypatch):
    table = wire(monkeypatch, tmp_path)
    rules = {"permissions.rules": [{"tool":"Bash","decision":"allow"}]}
    s = ss.make_session(tmp_path, SCRIPT)
    run, ev = ss.drive(s, "go", tools=["Bash","ProcessWait","ProcessStop"], settings=rules, mode="live")
    print(run.status, run.problem, [m.text for m in run.messages])
    s2 = ss.make_session(tmp_path, SCRIPT)
    run2, ev2 = ss.drive(s2, "go", tools=["Bash","ProcessWait","ProcessStop"], settings=rules, mode="replay")
    assert [m.text for m in run.messages]==[m.text for m in run2.messages]
    assert run2.replayed and (tmp_path/"ran.txt").read_text()=="ran\n"
    # interrupt
    long = SCRIPT.replace("sleep 0.5","sleep 50").replace("250","30000")
    s3 = ss.make_session(tmp_path, long)
    stream = s3.stream(s3.prepare("go2", tools=["Bash"], settings=rules, mode="live"))
    async def collect(): return [e async for e in stream]
    f, cancel = submit(collect())
    while (tmp_path/"ran.txt").read_text().count("ran")<2: time.sleep(0.05)
    time.sleep(0.3); t=time.time(); cancel(); f.result(10); print(time.time()-t, stream.run.status, [m.text for m in stream.run.messages][-1])
    submit(table.aclose())[0].result(10)
    for x in ss.MADE: submit(x.aclose())[0].result(10)
