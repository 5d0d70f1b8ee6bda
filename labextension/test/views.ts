import { CallView, RunView } from '../src/protocol';

/** A run as the kernel sends it. */
export function run(changes: Partial<RunView> = {}): RunView {
  return {
    version: 1, id: '3fa92c17', status: 'done', profile: 'assistant', model: 'openai:gpt-x', turns: 3,
    callCount: changes.calls?.length ?? 0, tokens: 2113, calls: [], notes: [], hiddenCalls: 0, text: '', textTruncated: false,
    files: [], folder: 'analysis.agent/runs/3fa92c17', problemCode: null, problem: null, continues: null, ...changes
  };
}

export function call(index: number, changes: Partial<CallView> = {}): CallView {
  return {
    index, turn: 1, name: 'workspace_read_file', toolId: 'builtin:workspace.read_file', group: 'workspace', state: 'done',
    arguments: { path: 'a.md' }, rawArguments: null, summary: '3 lines', content: 'one\ntwo\nthree', contentTruncated: false,
    errorCode: null, images: [], ...changes
  };
}

/** What an attacker would write everywhere a text can be. */
export const PAYLOAD = '<img src=x onerror="window.hacked=1"><script>window.hacked=1</script><svg onload="window.hacked=1">';
