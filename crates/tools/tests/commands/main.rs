//! Tests the command tools as a model calls them.
#![expect(
    clippy::disallowed_methods,
    clippy::unwrap_used,
    reason = "tests may unwrap, and look at real files and processes"
)]

mod accounting;
mod arguments;
mod bench;
mod deltas;
mod environment;
mod input;
mod labels;
mod lifetime;
mod login;
mod output;
mod stories;
mod terminal;

use accounting::*;
use arguments::*;
use deltas::*;
use environment::*;
use input::*;
use labels::*;
use lifetime::*;
use login::*;
use output::*;
use stories::*;
use terminal::*;

testkit::trials![
    a_busy_loop_takes_time,
    memory_at_its_peak,
    bytes_are_counted,
    a_run_that_was_ended_is_counted_too,
    a_command_runs_where_it_is_told,
    a_place_where_nothing_can_run_is_named,
    programs_that_cannot_run_say_why,
    arguments_that_make_no_sense,
    a_nul_in_a_command_is_named,
    more_arguments_than_a_message_holds,
    plain_scripts_are_scripts,
    a_script_that_cannot_be_loaded_is_named_itself,
    every_misfit_has_a_sentence,
    other_names_reach_the_same_tools,
    the_local_shell_call_is_read,
    a_time_limit_of_a_session_holds_after_its_call,
    a_command_is_taken_in_either_form,
    all_six_take_a_plea,
    a_read_only_policy_lets_commands_read,
    shells_are_chosen_by_name_or_path,
    waits_that_nobody_set,
    waits_are_clamped,
    numbers_beyond_all_reason,
    whoever_watches_sees_all_of_it,
    whoever_watches_sees_it_while_it_is_written,
    characters_are_told_whole,
    the_beginning_of_a_character_at_the_end_is_told,
    last_words_are_told,
    what_is_written_between_two_calls_is_told_too,
    two_looks_at_one_session_take_nothing_from_each_other,
    a_slow_watcher_slows_the_process_down_and_loses_nothing,
    a_slow_watcher_of_a_session_loses_nothing,
    a_watcher_that_takes_nothing_holds_up_no_limit,
    a_watcher_that_takes_nothing_holds_up_no_cancelling,
    the_core_and_what_is_imposed,
    a_terminal_makes_a_difference,
    credentials_do_not_arrive,
    nothing_is_inherited_if_that_is_the_policy,
    pages_are_not_waited_for,
    a_broken_pipe_ends_the_writer,
    without_input_there_is_nothing_to_read,
    input_is_typed_and_closed,
    all_of_a_long_input_arrives,
    ctrl_c_is_a_signal_where_there_is_no_terminal,
    typing_where_nobody_listens_says_what_to_do,
    who_never_reads_does_not_hang_the_call,
    an_argument_at_fault_is_named,
    what_to_do_about_input_that_is_not_read,
    one_shot_labels,
    one_shot_labels_of_a_halt,
    the_limit_for_one_call_is_named,
    session_labels,
    an_end_is_told_once,
    what_is_left_in_the_background,
    two_that_are_left_are_processes,
    sessions_are_listed,
    ending_a_session,
    ending_what_does_not_want_to_end,
    no_more_sessions_than_allowed,
    sixty_four_is_the_default,
    signals_are_named,
    a_keeper_that_is_killed_is_no_exit_code,
    a_keeper_that_is_killed_fails_only_its_own_call,
    an_end_in_the_middle_of_an_answer_is_not_lost,
    nothing_is_left_of_what_ended_by_itself,
    nothing_is_left_of_what_ran_out_of_time,
    nothing_is_left_of_what_was_cancelled,
    nothing_is_left_of_a_session_that_is_killed,
    an_answer_does_not_wait_for_whoever_holds_the_pipe,
    a_poll_waits_for_what_is_left_in_the_background,
    an_early_end_of_output_is_no_end,
    a_call_that_is_given_up_leaves_nothing,
    sessions_end_with_whoever_has_them,
    turn_session_and_keep,
    closing_waits_until_nothing_is_left,
    what_was_started_has_a_session_of_its_own_and_nothing_of_ours,
    a_directory_that_goes_while_it_is_used,
    what_a_profile_complains_about_is_not_run,
    a_profile_is_run_once,
    a_program_that_is_missing_makes_the_profile_be_read_anew,
    a_profile_in_place_is_as_good_as_one_that_is_run,
    a_profile_that_starts_something_is_not_waited_for,
    a_profile_that_hangs_hangs_no_command,
    a_call_that_is_cancelled_while_its_profile_hangs,
    a_profile_that_exits_is_the_users_word,
    other_shells_have_profiles_too,
    streams_are_apart_for_programs_and_together_for_models,
    five_megabytes_are_cut_and_kept,
    what_fits_into_memory_but_not_into_an_answer_is_kept_too,
    without_a_directory_the_rest_is_gone_and_that_is_said,
    more_than_is_kept_is_said_to_be_more,
    bytes_that_are_no_text_survive,
    progress_is_folded_to_its_last_state,
    a_hundred_thousand_tiny_writes,
    a_character_in_two_pieces_is_one,
    a_character_in_two_polls_is_one,
    no_more_tokens_than_asked_for,
    the_limit_of_all_answers_holds,
    polls_together_are_all_of_it,
    a_poll_says_what_it_alone_has_cut,
    a_flood_is_ended_in_time,
    a_web_server_in_the_background,
    a_build_that_fails_and_then_does_not,
    a_python_session,
    a_prompt_is_answered_early,
    it_is_a_terminal_and_without_one_it_is_none,
    its_size_is_what_was_asked_for,
    keys_do_what_keys_do,
    closing_a_terminal_is_the_end_of_its_input,
    a_screen_is_what_a_person_would_see,
    a_screen_takes_nothing_away,
    a_terminal_that_nobody_has_open_for_a_while,
    a_screen_of_what_has_ended_says_that_it_has,
    a_full_screen_program,
    git_asks_hunk_by_hunk,
];
