// The names of actions as tools of a model: providers take no dot, and some rewrite a hyphen. `change_address.v2` is `change_address_v2`.

const TOOL_NAME = /^(.+)_v([1-9]\d*)$/

export const toolNameOf = (actionId: string): string => actionId.replace(/\.v([1-9]\d*)$/, '_v$1')

/** The action that a tool is; the name itself where it has no version, which no action is called. Exactly one action has each tool name. */
export const actionIdOf = (toolName: string): string => toolName.replace(TOOL_NAME, '$1.v$2')
