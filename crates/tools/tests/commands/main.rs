//! Tests the command tools as a model calls them.
#![expect(
    clippy::disallowed_methods,
    clippy::unwrap_used,
    reason = "tests may unwrap, and look at real files and processes"
)]

mod arguments;
mod environment;
mod harness;
mod input;
mod lifetime;
mod login_profile;
mod output;
mod output_streaming;
mod report_labels;
mod resource_usage;
mod scenarios;
mod terminal;

use arguments::*;
use environment::*;
use input::*;
use lifetime::*;
use login_profile::*;
use output::*;
use output_streaming::*;
use report_labels::*;
use resource_usage::*;
use scenarios::*;
use terminal::*;

testkit::trials![
    cpu_time_is_measured,
    peak_memory_is_measured,
    output_bytes_are_counted,
    ended_run_reports_its_usage,
    command_runs_in_the_given_workdir,
    unusable_workdir_is_named,
    programs_that_cannot_run_say_why,
    invalid_arguments_are_rejected,
    a_nul_in_a_command_is_named,
    too_many_arguments_are_rejected,
    simple_scripts_behave_as_in_a_shell,
    a_script_that_cannot_be_loaded_is_named_itself,
    every_schema_violation_has_a_message,
    other_names_reach_the_same_tools,
    the_local_shell_call_is_read,
    a_time_limit_of_a_session_holds_after_its_call,
    a_command_is_taken_in_either_form,
    all_command_tools_accept_escalation_arguments,
    a_read_only_policy_lets_commands_read,
    shells_are_chosen_by_name_or_path,
    default_waits_apply,
    waits_are_clamped,
    huge_numbers_are_accepted,
    observer_sees_all_output,
    observer_sees_output_while_it_is_written,
    characters_are_streamed_whole,
    incomplete_character_at_the_end_is_streamed,
    output_after_sigterm_is_streamed,
    output_between_two_calls_is_streamed,
    concurrent_polls_split_the_output,
    slow_observer_slows_the_process_and_loses_nothing,
    slow_observer_of_a_session_loses_nothing,
    stuck_observer_does_not_delay_the_timeout,
    stuck_observer_does_not_delay_cancellation,
    environment_has_core_and_forced_variables,
    environment_differs_on_a_terminal,
    credentials_are_withheld,
    nothing_is_inherited_if_that_is_the_policy,
    pagers_do_not_block,
    a_broken_pipe_ends_the_writer,
    without_input_there_is_nothing_to_read,
    input_is_typed_and_closed,
    all_of_a_long_input_arrives,
    ctrl_c_is_a_signal_where_there_is_no_terminal,
    writing_to_a_closed_stdin_says_what_to_do,
    unread_input_does_not_hang_the_call,
    an_argument_at_fault_is_named,
    unread_input_error_does_not_suggest_a_restart,
    one_shot_report_labels,
    one_shot_report_labels_after_a_halt,
    the_limit_for_one_call_is_named,
    session_report_labels,
    exit_is_reported_once,
    background_processes_are_reported,
    two_background_processes_are_plural,
    sessions_are_listed,
    kill_session_ends_all_processes,
    kill_session_ends_stubborn_processes,
    session_limit_is_enforced,
    default_session_limit_is_64,
    signals_are_named,
    killed_supervisor_gives_no_exit_code,
    killed_supervisor_fails_only_its_own_call,
    exit_during_an_answer_is_not_lost,
    nothing_is_left_of_what_ended_by_itself,
    nothing_is_left_of_what_ran_out_of_time,
    nothing_is_left_of_what_was_cancelled,
    nothing_is_left_of_a_session_that_is_killed,
    answer_does_not_wait_for_open_pipes,
    a_poll_waits_for_what_is_left_in_the_background,
    closed_output_is_not_an_exit,
    a_call_that_is_given_up_leaves_nothing,
    sessions_end_with_their_owner,
    lifetimes_turn_session_and_keep,
    closing_waits_until_nothing_is_left,
    started_process_has_its_own_session_and_no_inherited_fds,
    removed_workdir_is_handled,
    profile_stderr_is_not_executed,
    a_profile_is_run_once,
    missing_program_makes_the_profile_run_again,
    cached_profile_equals_a_profile_that_runs,
    a_profile_that_starts_something_is_not_waited_for,
    hanging_profile_does_not_block_the_command,
    call_is_cancelled_while_its_profile_hangs,
    exiting_profile_ends_the_command,
    other_shells_have_profiles_too,
    streams_are_apart_for_programs_and_together_for_models,
    five_megabytes_are_cut_and_kept,
    what_fits_into_memory_but_not_into_an_answer_is_kept_too,
    without_a_directory_the_rest_is_gone_and_that_is_said,
    output_beyond_the_kept_limit_is_reported,
    non_utf8_bytes_survive,
    progress_is_folded_to_its_last_state,
    a_hundred_thousand_tiny_writes_are_captured,
    a_character_in_two_pieces_is_one,
    a_character_in_two_polls_is_one,
    no_more_tokens_than_asked_for,
    the_limit_of_all_answers_holds,
    successive_polls_return_all_output,
    each_poll_reports_its_own_truncation,
    a_flood_is_ended_in_time,
    a_web_server_in_the_background,
    a_build_that_fails_and_then_does_not,
    a_python_session,
    a_prompt_is_answered_early,
    tty_argument_decides_whether_there_is_a_terminal,
    terminal_has_the_requested_size,
    control_keys_work,
    closing_a_terminal_is_the_end_of_its_input,
    a_screen_is_what_a_person_would_see,
    screen_consumes_no_output,
    terminal_survives_a_moment_without_open_fds,
    screen_of_an_ended_session_reports_the_exit,
    a_full_screen_program,
    git_asks_hunk_by_hunk,
];
