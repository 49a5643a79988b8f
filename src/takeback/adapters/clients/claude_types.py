"""The types that Claude Code checks in its settings: with one of them wrong, it drops the whole file.

Found by giving version 2.1.325 every key with a value of each type and reading what `claude doctor` said. Keys that
it ignores one by one when they are wrong (`effortLevel`, `theme`, `modelSettings` and the like) are not in here.
"""

from __future__ import annotations

from typing import Final

_TEXTS: Final = """
$schema advisorModel agent apiKeyHelper attribution.commit attribution.pr attributionProject
autoMemoryDirectory awsAuthRefresh awsCredentialExport claudeMd fileSuggestion.command gcpAuthRefresh
language minimumVersion model otelHeadersHelper outputStyle plansDirectory pluginTrustMessage
processWrapper proxyAuthHelper prUrlTemplate requiredMaximumVersion requiredMinimumVersion
statusLine.command timeZone
"""
_SWITCHES: Final = """
agentPushNotifEnabled allowAllClaudeAiMcps allowClaudeInChromeWithManagedMcp alwaysThinkingEnabled
autoCompactEnabled autoDreamEnabled autoMemoryEnabled autoScrollEnabled awaySummaryEnabled
bashEditDiffEnabled clawdFileProgressEnabled disableAllHooks disableReplyCheck doneMeansMerged
emojiCompletionEnabled fastMode fileCheckpointingEnabled forceRemoteSettingsRefresh idleCompaction
includeCoAuthoredBy includeGitInstructions inputNeededNotifEnabled precomputeCompactionEnabled
prefersReducedMotion promptSuggestionEnabled respectGitignore respondToBashCommands
sandbox.allowUnsandboxedCommands sandbox.autoAllowBashIfSandboxed sandbox.enabled
sandbox.enableWeakerNestedSandbox sandbox.failIfUnavailable showClearContextOnPlanAccept
showMessageTimestamps showThinkingSummaries showTurnDuration spinnerTipsEnabled switchModelsOnFlag
syntaxHighlightingDisabled terminalProgressBarEnabled terminalTitleFromRename todoFeatureEnabled
totalTokensReminderAfterUserTurn verbose voice.enabled wheelScrollAccelerationEnabled
workflowKeywordTriggerEnabled wslInheritsWindowsSettings
"""
_LOOSE_SWITCHES: Final = """
allowManagedHooksOnly allowManagedMcpServersOnly allowManagedPermissionRulesOnly
autoContinueAtUsageLimit autoUploadSessions channelsEnabled disableAgentView disableArtifact
disableBundledSkills disableClaudeAiConnectors disableCommandPluginSources disableRemoteControl
disableSideloadFlags disableSkillShellExecution disableWindowsBashCommandSplit disableWorkflows
enableAllProjectMcpServers enableArtifact enableWorkflows enforceAvailableModels fastModePerSessionOptIn
isolatePeerMachines remoteControlAtStartup responseComparisonEnabled skipDangerousModePermissionPrompt
skipWebFetchPreflight skipWorkflowUsageWarning syncClaudeAiPlugins syncClaudeAiSkills
"""
_COUNTS: Final = (
    "cleanupPeriodDays desktopSessionCleanupPeriodDays skillListingMaxDescChars totalTokensReminderBudget"
)
_NUMBERS: Final = "feedbackSurveyRate skillListingBudgetFraction"
_MAPPINGS: Final = """
breakReminder enabledPlugins env fileSuggestion hooks modelOverrides permissions pluginConfigs
quietHours remote remoteTools sandbox sandbox.filesystem sandbox.ignoreViolations sandbox.network
skillOverrides spinnerVerbs statusLine voice worktree
"""
_LISTS: Final = """
allowedChannelPlugins allowedHttpHookUrls availableModels claudeMdExcludes companyAnnouncements
fallbackModel httpHookAllowedEnvVars permissions.additionalDirectories permissions.allow permissions.ask
permissions.deny pluginSuggestionMarketplaces sandbox.excludedCommands spinnerVerbs.verbs sshConfigs
worktree.sparsePaths worktree.symlinkDirectories
"""
_LOOSE_LISTS: Final = "blockedMarketplaces strictKnownMarketplaces"
_NAMES: Final = "disabledMcpjsonServers enabledMcpjsonServers"
_ATTRIBUTION: Final = "attribution"

TYPES: Final[dict[str, tuple[type, ...]]] = {
    place: allowed
    for places, allowed in (
        (_TEXTS, (str,)),
        (_SWITCHES, (bool,)),
        (_LOOSE_SWITCHES, (bool, type(None))),
        (_COUNTS, (int,)),
        (_NUMBERS, (float,)),
        (_MAPPINGS, (dict,)),
        (_LISTS, (list,)),
        (_LOOSE_LISTS, (list, type(None))),
        (_NAMES, (str, list)),
        (_ATTRIBUTION, (bool, dict)),
    )
    for place in places.split()
}
CHOICES: Final[dict[str, frozenset[str]]] = {
    "permissions.defaultMode": frozenset({"acceptEdits", "auto", "bypassPermissions", "default", "dontAsk", "plan"}),
    "permissions.disableBypassPermissionsMode": frozenset({"disable"}),
    "permissions.disableAutoMode": frozenset({"disable"}),
    "statusLine.type": frozenset({"command"}),
    "fileSuggestion.type": frozenset({"command"}),
    "spinnerVerbs.mode": frozenset({"append", "replace"}),
    "voice.mode": frozenset({"hold", "tap"}),
}
"""Texts of which only some are known."""
TEXTS_IN: Final = (
    "permissions.additionalDirectories",
    "worktree.symlinkDirectories",
    "worktree.sparsePaths",
    "sandbox.excludedCommands",
    "availableModels",
    "companyAnnouncements",
)
"""Lists in which one item that is not a text is enough."""
NEEDED: Final = {"statusLine": ("type", "command"), "fileSuggestion": ("type", "command")}
"""What a mapping must have, where it is there."""
