# sgaudit 1, run 20261201t093000-abc123, planned at 2026-12-01T09:30:00Z
# Adds what the cluster lacks. Put it into a configuration with the AWS provider (5.0 or newer), then
# terraform plan and terraform apply; to undo it, take it out again and apply.
# Where Terraform manages what this adds to, its own lists take it away again: inline ingress and egress
# blocks of a group or an ACL, vpc_security_group_ids of an instance, security_groups of an interface.
#
# account 111122223333, Region us-east-1
# cluster: tags ["cluster=train"]; interfaces primary; family ipv4
# pairs of members before: 8 open, 0 partial, 4 blocked, 0 unknown
# pairs of members after:  12 open, 0 partial, 0 blocked, 0 unknown
# opens nothing beyond what is required
# whether interfaces outside the cluster carry the same groups was not read
# not safe without a look:
#   op-2: whether interfaces outside the cluster carry it was not read

data "aws_caller_identity" "sgaudit_20261201t093000_abc123" {
  lifecycle {
    postcondition {
      condition     = self.account_id == "111122223333"
      error_message = "This was planned for account 111122223333."
    }
  }
}

data "aws_region" "sgaudit_20261201t093000_abc123" {
  lifecycle {
    postcondition {
      condition     = self.id == "us-east-1"
      error_message = "This was planned for Region us-east-1."
    }
  }
}

# op-1: make a prefix list of the members' addresses, 2 blocks
resource "aws_ec2_managed_prefix_list" "sgaudit_20261201t093000_abc123_1" {
  name           = "sgaudit-20261201t093000-abc123"
  address_family = "IPv4"
  max_entries    = 2

  entry {
    cidr        = "10.12.1.118/32"
    description = "member of --tag cluster=train"
  }

  entry {
    cidr        = "10.12.1.190/32"
    description = "member of --tag cluster=train"
  }

  tags = {
    "sgaudit:managed" = "true"
    "sgaudit:run"     = "20261201t093000-abc123"
    "sgaudit:cluster" = "--tag cluster=train"
  }
}

# op-2: let training-base (sg-0c29b46f93626af51) receive tcp 29500,32768-60999 from the new prefix list
# not safe: whether interfaces outside the cluster carry it was not read
resource "aws_vpc_security_group_ingress_rule" "sgaudit_20261201t093000_abc123_2_1" {
  security_group_id = "sg-0c29b46f93626af51"
  ip_protocol       = "tcp"
  from_port         = 29500
  to_port           = 29500
  prefix_list_id    = aws_ec2_managed_prefix_list.sgaudit_20261201t093000_abc123_1.id
  description       = "sgaudit 20261201t093000-abc123: --tag cluster=train"

  tags = {
    "sgaudit:managed" = "true"
    "sgaudit:run"     = "20261201t093000-abc123"
    "sgaudit:cluster" = "--tag cluster=train"
    "sgaudit:finding" = "e36d139580ec4d6ca2d90ae5ac3e4215"
  }
}

resource "aws_vpc_security_group_ingress_rule" "sgaudit_20261201t093000_abc123_2_2" {
  security_group_id = "sg-0c29b46f93626af51"
  ip_protocol       = "tcp"
  from_port         = 32768
  to_port           = 60999
  prefix_list_id    = aws_ec2_managed_prefix_list.sgaudit_20261201t093000_abc123_1.id
  description       = "sgaudit 20261201t093000-abc123: --tag cluster=train"

  tags = {
    "sgaudit:managed" = "true"
    "sgaudit:run"     = "20261201t093000-abc123"
    "sgaudit:cluster" = "--tag cluster=train"
    "sgaudit:finding" = "e36d139580ec4d6ca2d90ae5ac3e4215"
  }
}
