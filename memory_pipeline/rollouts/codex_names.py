"""The names of Codex's line, item and event types: which are silent, and which mean the same.

Silent ones are known and say nothing that counts: they repeat the talk, measure it, or draw the screen.
"""

SILENT_LINES = frozenset(
    {
        "world_state", "token_usage_record", "inter_agent_communication_metadata", "retained_context",
        "security_risk_score", "realtime_item", "state",
    }
)  # fmt: skip
SILENT_ITEMS = frozenset(
    {
        "reasoning", "ghost_snapshot", "compaction", "context_compaction", "compaction_summary", "compaction_trigger",
        "additional_tools", "other",
    }
)  # fmt: skip
SILENT_EVENTS = frozenset(
    {
        "agent_message", "agent_message_delta", "agent_message_content_delta", "agent_reasoning",
        "agent_reasoning_delta",
        "agent_reasoning_raw_content", "agent_reasoning_raw_content_delta", "agent_reasoning_section_break",
        "reasoning_content_delta", "reasoning_raw_content_delta", "exec_command_begin", "exec_command_output_delta",
        "terminal_interaction", "patch_apply_begin", "patch_apply_updated", "mcp_tool_call_begin", "web_search_begin",
        "web_search_end", "image_generation_begin", "image_generation_end", "view_image_tool_call",
        "thread_name_updated", "thread_goal_updated", "context_compacted", "item_started",
        "entered_review_mode", "exited_review_mode", "plan_update", "plan_delta", "undo_started", "undo_completed",
        "background_event", "turn_diff", "deprecation_notice", "warning", "guardian_warning", "guardian_assessment",
        "request_user_input", "request_permissions", "elicitation_request", "exec_approval_request",
        "apply_patch_approval_request", "hook_started", "hook_completed", "session_configured", "shutdown_complete",
        "model_reroute", "model_verification", "sub_agent_activity", "dynamic_tool_call_request",
        "dynamic_tool_call_response", "skills_update_available", "list_skills_response", "mcp_startup_update",
        "mcp_startup_complete", "mcp_list_tools_response", "get_history_entry_response", "raw_response_item",
        "conversation_path", "list_custom_prompts_response", "memory_citation", "safety_buffering",
    }
)  # fmt: skip
SILENT_TURN_ITEMS = frozenset(
    {
        "Reasoning", "WebSearch", "Extension", "Plan", "ContextCompaction", "SubAgentActivity",
        "HookPrompt", "ImageView", "ImageGeneration", "EnteredReviewMode", "ExitedReviewMode", "CollabAgentToolCall",
        "DynamicToolCall", "Sleep",
    }
)  # fmt: skip
CALLS = frozenset(
    {"function_call", "custom_tool_call", "local_shell_call", "tool_search_call", "image_generation_call"}
)
OUTPUTS = frozenset({"function_call_output", "custom_tool_call_output", "tool_search_output", "mcp_tool_call_output"})
TURN_STARTS = frozenset({"task_started", "turn_started"})
TURN_ENDS = frozenset({"task_complete", "turn_complete", "turn_completed"})
TURN_FAILURES = frozenset({"error", "turn_failed", "task_failed"})
#: Tools of the agent itself that bring no words from outside and ask nobody: a reading for facts passes them by.
PLAIN_TOOLS = frozenset(
    {
        "exec_command", "write_stdin", "shell", "shell_command", "local_shell", "container_exec", "apply_patch",
        "update_plan", "view_image", "read_file", "list_dir", "grep_files",
    }
)  # fmt: skip
