// Takeback's guard and recorder: asks `takeback hook opencode` before and after tools.
import { spawnSync } from "node:child_process"

const PROGRAM = ["takeback"]
const EDITS = new Set(["edit", "write", "multiedit", "patch", "apply_patch"])

const isMissing = (said) =>
  ["ENOENT", "EACCES", "ENOTDIR"].includes(said.error?.code) || /No module named '?takeback/.test(said.stderr ?? "")

const tell = async (client, said, variant) => {
  try {
    const message = JSON.parse(said.stdout || "{}").systemMessage
    if (message) await client?.tui?.showToast?.({ body: { title: "Takeback", message, variant } })
  } catch {
    return // a notice that cannot be shown is no reason to fail
  }
}

export const Takeback = async ({ client, directory }) => {
  const ask = (name, session, tool, args, call, prompt) =>
    spawnSync(PROGRAM[0], [...PROGRAM.slice(1), "hook", "opencode"], {
      input: JSON.stringify({
        hook_event_name: name,
        cwd: directory,
        session_id: session,
        tool_name: tool,
        tool_input: args ?? {},
        tool_use_id: call,
        prompt,
      }),
      encoding: "utf8",
      timeout: 90000,
    })
  return {
    "tool.execute.before": async (input, output) => {
      if (!EDITS.has(input.tool) && input.tool !== "bash") return
      const said = ask("tool.execute.before", input.sessionID, input.tool, output.args, input.callID)
      if (input.tool === "bash") return
      if (isMissing(said)) {
        console.error("takeback is not installed here: this edit is neither guarded nor recorded")
        return
      }
      if (said.error || said.status !== 0) throw new Error(said.stderr || `takeback: the guard failed: ${said.error}`)
    },
    "tool.execute.after": async (input) => {
      if (EDITS.has(input.tool) || input.tool === "bash") {
        await tell(client, ask("tool.execute.after", input.sessionID, input.tool, input.args, input.callID), "info")
      }
    },
    "chat.message": async (input, output) => {
      const texts = (output.parts ?? []).filter((part) => part.type === "text").map((part) => part.text)
      ask("chat.message", input.sessionID, undefined, undefined, undefined, texts.join("\n"))
    },
    event: async ({ event }) => {
      if (event.type === "session.created" || event.type === "session.idle") ask(event.type, undefined, undefined)
    },
  }
}
